"""Tracing takes steps in proportion to the program: twice the arms, exits or statements take about twice the calls.

Counted are Python's function calls, which are the same in every run, so nothing here depends on time.

Modules tested here: dsl/core/traced_program.py.
"""

import importlib.util
import sys
import threading
import warnings
from pathlib import Path

import pytest

from dsl.cutlass import Int32, cute
from dsl.cutlass.cute.runtime import make_fake_compact_tensor
from dsl.launch.call.compiling import compiler as compilation

PAGE = Path(__file__).parents[2] / "benchmarks" / "compile_growth.py"
spec = importlib.util.spec_from_file_location("compile_growth", PAGE)
growth = sys.modules["compile_growth"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(growth)
DEEP = ("nested", "loops")  # as deep as Python's own blocks go; their smallest programs are small
FAMILIES = [family for family in growth.FAMILIES if family.name not in DEEP]
PROGRAM = """from dsl import cutlass
from dsl.cutlass import cute


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    x = cutlass.Int32(0)
{body}    out[0] = x


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""


class Traced(Exception):
    """Tracing has ended: what lowers the text is not counted."""


def calls(family, size: int, folder: Path, monkeypatch) -> int:
    """The Python calls that tracing a program of this size makes."""
    file = folder / f"{family.name}_{size}.py"
    file.write_text(PROGRAM.format(body=family.body(size)))
    made = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    out, count = make_fake_compact_tensor(Int32, (64,)), 0

    def stop(*_):
        raise Traced

    def noted(frame, event, argument):
        nonlocal count
        count += event == "call"

    monkeypatch.setattr(compilation, "_code", stop)
    threading.setprofile(noted)
    sys.setprofile(noted)
    try:
        cute.compile(module.host, out, 1)
    except Traced:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_program_takes_twice_the_calls(family, tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls(family, 4, tmp_path, monkeypatch)
        small, large = (calls(family, size, tmp_path, monkeypatch) for size in (30, 60))
    assert large > 1000 and large < 2.2 * small
