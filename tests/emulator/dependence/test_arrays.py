"""Arrays of a run: what one launch leaves open the next one carries on; what the host has may come from any of it."""

import struct

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.dependence.arrays import Arrays
from tests.emulator.conftest import HEADER

KERNEL = """
.visible .entry exp(.param .u64 x, .param .u64 y) {
  .reg .b64 %x, %y; .reg .f32 %v; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  ld.global.f32 %v, [%x]; .loc 1 5 2
  ex2.approx.f32 %v, %v; st.global.f32 [%y], %v; ret; }
.visible .entry copy(.param .u64 x, .param .u64 y) {
  .reg .b64 %x, %y; .reg .f32 %v; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  ld.global.f32 %v, [%x]; st.global.f32 [%y], %v; ret; }
.visible .entry keep(.param .u64 x, .param .u64 y) {
  .reg .b64 %x, %y; .reg .f32 %v; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  ld.global.f32 %v, [%x]; st.global.f32 [kept], %v; ret; }
.visible .entry recall(.param .u64 x, .param .u64 y) {
  .reg .b64 %x, %y; .reg .f32 %v; ld.param.u64 %y, [y]; ld.global.f32 %v, [kept]; st.global.f32 [%y], %v; ret; }
"""


class Run:
    def __init__(self):
        self.program = emulator.load(f'{HEADER}.visible .global .align 4 .b8 kept[4];\n{KERNEL}\n.file 1 "/k.py"\n')
        self.memory, self.arrays = emulator.Memory(), Arrays()

    def array(self, *values: float) -> np.ndarray:
        array = np.array(values, np.float32)
        self.memory.register(array.ctypes.data, array.nbytes, "")
        return array

    def launch(self, entry: str, x: np.ndarray, y: np.ndarray) -> None:
        params = [struct.pack("<Q", array.ctypes.data) for array in (x, y)]
        self.arrays.launch(self.program, entry, params, self.memory)
        emulator.launch(self.program, entry, (1, 1, 1), (1, 1, 1), params, self.memory)

    def is_open(self, array: np.ndarray) -> bool:
        origins = self.arrays.of(array.ctypes.data, array.nbytes)
        assert [(one.instruction, one.file, one.line) for one in origins] in ([], [("ex2.approx.f32", "/k.py", 5)])
        return bool(origins)


@pytest.fixture
def run():
    return Run()


def test_a_launch_carries_on_what_the_one_before_left_open(run):
    a, b, c, d = (run.array(n, n + 1, n) for n in range(4))
    run.launch("copy", a, d)
    run.launch("exp", a, b)
    run.launch("copy", b, c)
    assert [run.is_open(array) for array in (a, b, d)] == [False, True, False]
    assert run.is_open(c)
    table = run.arrays.of(b.ctypes.data, 4)[0].as_table()
    assert table == {"instruction": "ex2.approx.f32", "file": "k.py", "line": 5, "bound": "2 ulp",
                     "relative": 2 * 2**-23, "absolute": None}  # fmt: skip


def test_a_part_of_an_array_is_that_array(run):
    a, b = run.array(1, 2, 3), run.array(0, 0, 0)
    run.launch("exp", a, b[1:])
    assert run.is_open(b[2:]) and run.is_open(b) and not run.is_open(a[1:])


def test_variables_of_the_module_carry_it_on(run):
    a, b, c = run.array(1, 2), run.array(0, 0), run.array(0, 0)
    run.launch("recall", a, c)
    assert not run.is_open(c)
    run.launch("exp", a, b)
    run.launch("keep", b, a)
    run.launch("recall", a, c)
    assert run.is_open(c) and not run.is_open(a)


def test_an_array_of_the_host_is_open_once_any_array_is_open(run):
    a, b = run.array(1, 2), run.array(0, 0)
    mine = np.ones(3, np.float32)
    run.launch("copy", a, b)
    assert not run.is_open(mine) and run.arrays.of(None, 0) == []
    run.launch("exp", a, b)
    assert run.is_open(mine) and run.arrays.of(None, 0) != []


def test_a_new_array_may_come_from_the_host_unless_it_is_filled(run):
    a, b = run.array(1, 2), run.array(0, 0)
    run.launch("exp", a, b)
    new, filled, out, other = run.array(3, 4, 5), run.array(7, 7, 7), run.array(0, 0), run.array(0, 0)
    run.launch("copy", new, out)
    run.launch("copy", filled, other)
    assert run.is_open(new) and run.is_open(out)
    assert not run.is_open(filled) and not run.is_open(other)


SHUFFLE = """
.visible .entry shuffle(.param .u64 y, .param .u32 n) {
  .reg .b64 %y, %o; .reg .b32 %v, %t, %n; .reg .pred %p, %q;
  ld.param.u64 %y, [y]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, %n; @%p ret;
  mul.wide.u32 %o, %t, 4; add.s64 %y, %y, %o; .loc 1 5 2
  shfl.sync.down.b32 %v|%q, %t, 1, 31, -1; st.global.u32 [%y], %v; ret; }
"""


@pytest.mark.parametrize("lanes, is_open", [(32, False), (31, True)])
def test_a_shuffle_is_open_where_it_was_seen_to_read_an_absent_lane(lanes, is_open):
    """Lane 30 of 31 reads lane 31, which has left; the last of 32 is at the segment's end, and reads itself."""
    program = emulator.load(f'{HEADER}{SHUFFLE}\n.file 1 "/k{lanes}.py"\n')  # one that no launch has used
    memory, arrays, out = emulator.Memory(), Arrays(), np.zeros(32, np.uint32)
    memory.register(out.ctypes.data, out.nbytes, "out")
    params = [struct.pack("<Q", out.ctypes.data), struct.pack("<I", lanes)]
    for _ in range(3):  # the third is one that is kept ready
        arrays.launch(program, "shuffle", params, memory)
        emulator.launch(program, "shuffle", (1, 1, 1), (32, 1, 1), params, memory)
        arrays.ended(program, "shuffle")
    assert out.tolist() == [*range(1, lanes), lanes - 1, *[0] * (32 - lanes)]
    said = [each.leeway.bound for each in arrays.of(out.ctypes.data, out.nbytes)]
    assert said == (["a lane that takes no part was read"] if is_open else [])
