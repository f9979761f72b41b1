"""The fuzzer of mistakes: a short run is clean, and it tells the kinds of end apart."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import mutations

MUTATE = Path(__file__).with_name("mutate.py")
HEAD = """\
import cutlass, cutlass.cute as cute
@cute.jit
def host(n: cutlass.Int32):
    {}
host(3)
"""


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(MUTATE), *map(str, arguments)], capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_mutants_of_a_fixed_seed_end_well(tmp_path):
    done = run("--mutants", 40, "--seed", 11, "--workers", 2, "--repros", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 failures" in done.stdout and not list(tmp_path.iterdir())


ENDS = {
    "pass": "clean",
    "int(n)": "DSLUserCodeTypeError PHASE_DYNAMIC_INDEX",
    "n.nothing": "DSLUserCodeAttributeError UNKNOWN_NAME",
    "__import__('os').kill(__import__('os').getpid(), 11)": "!died -11",
    "while True: (lambda: None)()": "endless python KeyboardInterrupt",
    "from dsl.core.ir import mlir; mlir.Module().declare('x', 'nonsense')": "!fault MLIRError core/ir/mlir.py:declare",
    "from dsl.core.errors import DSLUserCodeError; raise DSLUserCodeError('no fix')": "!fix DSLUserCodeError None no fix",
}


@pytest.mark.slow
def test_kinds_of_end_are_distinguished(tmp_path):
    paths = []
    for number, statement in enumerate(ENDS):
        path = tmp_path / f"program_{number}.py"
        path.write_text(HEAD.format(statement))
        paths.append(path)
    done = run("--limit", 2, *paths)
    said = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert said == list(ENDS.values()), done.stdout + done.stderr
    assert done.returncode == 1


def test_a_mistake_is_the_same_for_the_same_number():
    text = MUTATE.with_name("on_host.py").read_text()
    assert mutations.mutant(text, 5) == mutations.mutant(text, 5) != mutations.mutant(text, 6)
