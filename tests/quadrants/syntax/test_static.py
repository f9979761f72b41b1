"""The examples of Quadrants' page on qd.static become what it promises: one branch, three stores and no loop, a grid
under a static `if`, a compilation a template value, and an error for a run-time value."""

import re

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session


@pytest.fixture
def running():
    run = session.start("emulator")
    qd.init(arch=qd.cpu)
    yield run
    session.stop()


@qd.kernel
def branching(use_fast_path: qd.Template, a: qd.Template) -> None:
    for i in range(10):
        if qd.static(use_fast_path):
            a[i] = i * 2
        else:
            a[i] = i * 3 + 1


@qd.kernel
def negated(flag: qd.Template, a: qd.Template) -> None:
    for i in range(10):
        if not qd.static(flag) and qd.static(flag is not None):
            a[i] = i * 3 + 1
        else:
            a[i] = i * 2


@qd.kernel
def unrolling(a: qd.Template) -> None:
    for i in qd.static(range(3)):
        a[i] = i * 10


@qd.kernel
def guarded(enable_pass: qd.Template, N: int, a: qd.Template) -> None:
    if qd.static(enable_pass):
        for i in range(N):
            a[i] += 1


@qd.kernel
def rejected(val: float) -> None:
    if qd.static(val > 0.5):
        pass


def opcodes(ptx: str) -> list[str]:
    return re.findall(r"^\t(?:@%p\d+ )?([\w.]+) ", ptx, re.MULTILINE)


@pytest.mark.parametrize("kernel", [branching, negated])
def test_one_branch_only_is_in_the_kernel(kernel, running):
    a = qd.field(qd.i32, shape=10)
    i = np.arange(10)
    for fast, expected in ((True, i * 2), (False, i * 3 + 1)):
        kernel(fast, a)
        assert a.to_numpy().tolist() == expected.tolist()
        found = opcodes(running.kernels[-1].ptx)
        tests = [each for each in found if each.startswith("setp")]
        assert tests == ["setp.gt.u32"] and "selp.b32" not in found  # the grid's end, and no choice
        assert found.count("st.global.b32") == 1
        assert ("mad.lo.s32" in found[found.index("bra") :]) == (not fast)


def test_a_template_value_is_compiled_once(running):
    a = qd.field(qd.i32, shape=10)
    for fast, count in ((True, 1), (False, 2), (True, 2), (False, 2), (1, 3), (1.0, 4)):
        branching(fast, a)
        assert len(branching._specialised) == count


def test_an_unrolled_loop_is_its_stores(running):
    a = qd.field(qd.i32, shape=3)
    unrolling(a)
    found = opcodes(running.kernels[-1].ptx)
    assert a.to_numpy().tolist() == [0, 10, 20]
    assert found.count("st.global.b32") == 3
    assert not {"bra", "setp.gt.s32"} & set(found)


def test_a_loop_under_a_static_if_stays_a_grid(running):
    a = qd.field(qd.i32, shape=1000)
    guarded(True, 1000, a)
    record = running.kernels[-1]
    assert record.launches[-1]["grid"] == [8, 1, 1] and record.launches[-1]["block"] == [128, 1, 1]
    assert a.to_numpy().tolist() == [1] * 1000
    launched = len(running.kernels)
    guarded(False, 1000, a)
    assert len(running.kernels) == launched, "nothing is left to launch"


def test_a_run_time_value_is_an_error_with_its_place(running):
    with pytest.raises(qd.QuadrantsCompilationError, match="must be compile-time constants") as caught:
        rejected(1.0)
    assert caught.value.place.source_line().strip() == "if qd.static(val > 0.5):"
    assert "^^^" in str(caught.value) and "fix: " in str(caught.value)


@qd.kernel
def scaled(a: qd.types.ndarray(), factor: int):
    for i in range(a.shape[0]):
        a[i] = a[i] * factor


def test_readable_cuda_has_the_names_of_arguments(running):
    a = np.arange(5, dtype=np.int32)
    with pytest.raises(qd.QuadrantsRuntimeError, match="`scaled` was not called yet"):
        scaled.cuda_source
    scaled(a, 3)
    assert a.tolist() == [0, 3, 6, 9, 12]
    assert (
        scaled.cuda_source
        == running.kernels[-1].cuda
        == """\
extern "C" __global__ void __launch_bounds__(128) scaled_1(int* a, int a_1, int factor) {
  int i = (int)blockIdx.x * (int)blockDim.x + (int)threadIdx.x;
  if (i < a_1) {
    a[i] = a[i] * factor;
  }
}
"""
    )
