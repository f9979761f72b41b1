"""One program in T, in Quadrants and in CuTe DSL becomes one kernel body, and the results are the same bits.

tests/tirx and tests/quadrants compare each with CuTe DSL, and hold the programs; here the three are compared at once. A
block's width is known while compiling in T only, so the number of the thread, which each kernel begins with, counts as
one step.
"""

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session
from tests.quadrants import test_same_kernel as quadrants
from tests.same_kernel import FLOATS, PROGRAMS, N, arrays, body, run_cute
from tests.tirx import test_same_kernel as tirx

NUMBER_OF_THE_THREAD = [
    ["mov.u32 %r#0, %ctaid.x;", "mov.u32 %r#1, %tid.x;", "shl.b32 %r#2, %r#0, 7;", "or.b32 %r#3, %r#2, %r#1;"],
    [
        "mov.u32 %r#0, %ctaid.x;",
        "mov.u32 %r#1, %ntid.x;",
        "mov.u32 %r#2, %tid.x;",
        "mad.lo.s32 %r#3, %r#0, %r#1, %r#2;",
    ],
]


@pytest.fixture(scope="module")
def running():
    yield session.start("emulator")
    session.stop()


def steps(ptx: str) -> list[str]:
    """The body of a kernel after the number of its thread, which %r#3 is."""
    lines = body(ptx)
    assert lines[:4] in NUMBER_OF_THE_THREAD
    return lines[4:]


ALIKE = [name for name in PROGRAMS if name != "inner_loop"]  # its loop is changed by LLVM where the width is known


@pytest.mark.parametrize("name", ALIKE)
def test_three_surfaces_make_one_kernel(name, running):
    in_t, result = tirx.compiled(name)
    x, y = arrays(np.float32 if name in FLOATS else np.int32)
    qd.init(arch=qd.cpu)
    quadrants.KERNELS[name](1.5 if name in FLOATS else 3, x, y, N)
    in_qd = running.kernels[-1].ptx
    in_cute, expected = run_cute(name, running)
    assert len({in_t, in_qd, in_cute}) == 3
    assert steps(in_t) == steps(in_qd) == steps(in_cute)
    assert result.tobytes() == y.tobytes() == expected.tobytes() and expected.any()


def test_each_has_at_least_eight_programs():
    assert PROGRAMS.keys() == tirx.FUNCTIONS.keys() == quadrants.KERNELS.keys() and len(ALIKE) >= 8
