"""discard: memory that keeps nothing. PTX ISA 9.7.9.16: a weak write of an unstable indeterminate value."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import HEADER

KERNEL = """
.visible .entry k(.param .u64 x)
{
  .reg .b32 %t, %v; .reg .b64 %x, %m, %n; .reg .pred %first;
  mov.u32 %t, %tid.x; ld.param.u64 %x, [x]; mad.wide.u32 %m, %t, 4, %x; xor.b32 %v, %t, 32; mad.wide.u32 %n, %v, 4, %x;
  setp.eq.u32 %first, %t, 0;
  BODY
  ret;
}
"""
WRITE, MEET, READ = "st.global.u32 [%m], %t;\n", "bar.sync 0;\n", "ld.global.u32 %v, [%n];\n"
USE = "add.u32 %v, %v, 1; st.global.u32 [%m+512], %v;\n"
DISCARD = "@%first discard.global.L2 [%x], 128;\n"


def outcome(body: str, checks=("race", "undefined"), offset: int = 0) -> str:
    """The finding of the checkers for two warps, on a page of memory that is followed, as text; "" if there is none."""
    page, known = mmap.mmap(-1, mmap.PAGESIZE), np.zeros(1024, np.uint8)
    x = np.frombuffer(page, np.uint32)
    address = x.ctypes.data
    memory = emulator.Memory()
    memory.register(address, 1024, "x")
    memory.follow(address, known.ctypes.data)
    program = emulator.load(HEADER + KERNEL.replace("BODY", body))
    try:
        parameter = np.uint64(address + offset).tobytes()
        emulator.launch(program, "k", (1, 1, 1), (64, 1, 1), [parameter], memory, 0, checks=checks)
    except emulator.Fault as fault:
        return str(fault)
    return ""


def test_the_values_are_gone():
    x = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, 1024, "x")
    program = emulator.load(HEADER + KERNEL.replace("BODY", WRITE + MEET + DISCARD))
    emulator.launch(program, "k", (1, 1, 1), (64, 1, 1), [np.uint64(x.ctypes.data).tobytes()], memory, 0)
    np.testing.assert_array_equal(x[:64], [0xDDDDDDDD] * 32 + [*range(32, 64)])


@pytest.mark.parametrize("body", [
    WRITE + MEET + READ + MEET + DISCARD + USE,
    WRITE + MEET + DISCARD + MEET + WRITE + MEET + READ + USE,
    WRITE.replace("[%m]", "[%m+128]") + MEET + DISCARD + READ.replace("%n", "%n+128") + USE.replace("512", "640"),
])  # fmt: skip
def test_no_finding(body):
    assert outcome(body) == ""


def test_a_read_after_it_is_undefined():
    assert (
        outcome(WRITE + MEET + DISCARD + MEET + READ + USE)
        == """\
UNDEFINED_READ
    reads `x[0]`, which nobody wrote, or not after the `discard` at PTX line 12; the value is stored for others to read here
    in `k`, thread (32, 0, 0) = warp 1, lane 0 of block (0, 0, 0)
    read at PTX line 14: ld.global.u32 %v, [%n];
    used at PTX line 15: st.global.u32 [%m+512], %v;
fix: read it before the `discard`, or write it again"""
    )


def test_it_races_with_a_read():
    assert (
        outcome(WRITE + MEET + READ + DISCARD + USE)
        == """\
RACE
    reads `x[0]`, which another thread wrote at PTX line 13: no barrier between
    in `k`, 4 bytes of `x[0]`
    reads    thread (32, 0, 0) = warp 1, lane 0 of block (0, 0, 0): PTX line 12: ld.global.u32 %v, [%n];
    wrote    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 13: @%first discard.global.L2 [%x], 128;
fix: put a barrier of the block (bar.sync) that all its threads reach between PTX line 12 and PTX line 13"""
    )


@pytest.mark.parametrize("offset, text", [(64, "is not aligned to 128 bytes (it is 64 past)"), (1024, "past the end")])
def test_an_address_that_it_does_not_take(offset, text):
    assert text in outcome(DISCARD, offset=offset)


@pytest.mark.parametrize("name", ["discard.global.L2", "applypriority.global.L2::evict_normal"])
def test_its_size(name):
    text = HEADER + KERNEL.replace("BODY", f"{name} [%x], 64;")
    with pytest.raises(emulator.PtxError) as caught:
        emulator.load(text).llvm_ir("k")
    assert str(caught.value) == f"PTX line 10: operand 2 must be 128, got 64: {name} [%x], 64;"
