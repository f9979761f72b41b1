"""The fuzzer: a short run of a fixed seed is clean, and it tells what is wrong with a program."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import reference

RUN = Path(__file__).with_name("run.py")

PROGRAM = """\
import cutlass
import cutlass.cute as cute

INPUTS = {inputs}


@cute.jit
def program(inputs: cute.Tensor, ints: cute.Tensor, floats: cute.Tensor, thread: cutlass.Int32):
    x = inputs[thread]
    {statement}


@cute.kernel
def kernel(inputs: cute.Tensor, ints: cute.Tensor, floats: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    program(inputs, ints, floats, thread)
"""


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(RUN), *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_programs_of_a_fixed_seed_are_clean(tmp_path):
    done = run("--programs", 100, "--seed", 7, "--workers", 2, "--repros", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failures" in done.stdout and not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement, told",
    [
        ("ints[thread] = cutlass.Int64(x % 3)", "clean"),
        ("ints[thread] = nothing", "NameError"),
        ("floats[thread] = cutlass.Float64(cutlass.Float32(x) * 0.1 + 0.7)", "kernel differs"),  # an fma
        ("while x == x:\n        x += 1 - 1", "hang"),
    ],
)
def test_the_output_names_what_is_wrong_with_a_program(statement, told, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(inputs=[7, 12, -3, 1000001], statement=statement))
    done = run("--limit", 5, path)
    assert told in done.stdout, done.stdout + done.stderr
    assert done.returncode == (told != "clean")


@pytest.mark.parametrize(
    "name, number, value",
    [
        ("Float16", 65519, 65504.0),
        ("Float16", 65520, np.inf),
        ("BFloat16", 257, 256.0),
        ("BFloat16", 259, 260.0),
        ("BFloat16", (1 << 24) + (1 << 16) + 1, (1 << 24) + (1 << 17)),
        ("Float32", (1 << 40) + (1 << 16), 1 << 40),
        ("Float32", (1 << 40) + (1 << 16) + 1, (1 << 40) + (1 << 17)),
        ("Float64", 2**64 - 1, 2.0**64),
        ("BFloat16", 1 + 2.0**-9, 1.0),
        ("BFloat16", 3e-41, 2.755e-41),
        ("BFloat16", 3.4e38, np.inf),
    ],
)
def test_the_reference_rounds_once_and_to_even(name, number, value):
    assert float(reference.rounded(number, name)) == pytest.approx(value, rel=1e-3 if name == "BFloat16" else 0)


def test_the_reference_does_not_import_the_compiler():
    code = f"import sys; sys.path.append({str(RUN.parent)!r}); import reference; assert 'dsl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
