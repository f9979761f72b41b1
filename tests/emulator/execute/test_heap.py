"""malloc and free of device code: blocks, null, faults of free; and the heap alone against what it gave out."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute import heap
from dsl.emulator.execute.heap import ALIGNMENT_BYTES, Heap

KERNEL = """
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry k(.param .u64 out, .param .u32 size)
{
  .reg .b32 %t, %v; .reg .b64 %p, %o, %n, %q; .reg .pred %null;
  mov.u32 %t, %tid.x; ld.param.u32 %v, [size]; cvt.u64.u32 %n, %v;
  { .param .b64 n0; .param .b64 r0; st.param.b64 [n0], %n; call (r0), malloc, (n0); ld.param.b64 %p, [r0]; }
  mul.wide.u32 %o, %t, 4; ld.param.u64 %q, [out]; add.u64 %o, %o, %q;
  setp.eq.u64 %null, %p, 0; @%null bra DONE;
  add.u32 %v, %t, 100; st.u32 [%p], %v; bar.sync 0; ld.u32 %v, [%p]; st.global.u32 [%o], %v;
  { .param .b64 p0; st.param.b64 [p0], %p; call free, (p0); }
  AGAIN
DONE:
  ret;
}
"""
AGAIN = "{ .param .b64 p1; st.param.b64 [p1], %p; call free, (p1); }"


@pytest.mark.parametrize("checks", [(), ("race", "undefined")])
def test_each_thread_has_a_separate_block(machine, checks):
    out = np.zeros(64, np.uint32)
    machine.run(KERNEL.replace("AGAIN", ""), block=64, out=out, size=20, checks=checks)
    assert out.tolist() == [*range(100, 164)]


@pytest.mark.parametrize("size", [0, 1 << 30])
def test_no_bytes_and_too_many_are_null(machine, size):
    out = np.full(32, 7, np.uint32)
    machine.run(KERNEL.replace("AGAIN", ""), block=32, out=out, size=size)
    assert (out == 7).all()


def test_a_block_that_is_freed_twice_is_a_fault(machine):
    with pytest.raises(emulator.Fault, match="(?s)ILLEGAL.*which no malloc gave, or which is free already.*call free"):
        machine.run(KERNEL.replace("AGAIN", AGAIN), block=1, out=np.zeros(1, np.uint32), size=8)


def test_blocks_never_overlap_and_all_comes_back():
    heap, chance = Heap(1 << 12), random.Random(1)
    whole, given = [*heap._free], {}
    for _ in range(3000):
        if given and chance.random() < 0.5:
            address = chance.choice([*given])
            assert heap.free(address) and not heap.free(address)
            del given[address]
            continue
        size = chance.randrange(1, 300)
        if address := heap.malloc(size):
            assert address % ALIGNMENT_BYTES == 0
            assert heap.address <= address and address + size <= heap.address + (1 << 12)
            assert all(address + size <= other or other + more <= address for other, more in given.items())
            given[address] = size
    assert heap.free(0) and not heap.free(heap.address + 8)
    for address in given:
        assert heap.free(address)
    assert heap._free == whole


def test_memory_that_was_free_in_between_does_not_race(machine, recwarn):
    text = KERNEL.replace("AGAIN", "").replace("bar.sync 0;", "")
    out = np.zeros(64, np.uint32)
    machine.run(text, block=64, out=out, size=20, checks=("race",))
    assert out.tolist() == [*range(100, 164)] and not recwarn.list


READ = """
  ld.u32 %v, [%p]; setp.eq.u32 %null, %v, 0; @%null bra DONE; st.global.u32 [%o], %v;
"""


@pytest.fixture
def fresh(monkeypatch):
    """A heap that no other test used."""
    monkeypatch.setattr(heap, "_heap", [])


def test_a_read_of_a_freed_block_is_a_finding(machine, fresh):
    with pytest.raises(
        emulator.Fault, match="(?s)UNDEFINED_READ.*in no block of `malloc`.*fix: free a block after its"
    ):
        machine.run(KERNEL.replace("AGAIN", READ), block=1, out=np.zeros(1, np.uint32), size=8, checks=("undefined",))


def test_a_read_of_a_new_block_is_a_finding(machine, fresh):
    text = KERNEL.replace("add.u32 %v, %t, 100; st.u32 [%p], %v;", READ).replace("AGAIN", "")
    with pytest.raises(emulator.Fault, match="(?s)UNDEFINED_READ.*which nobody wrote.*fix: write it first"):
        machine.run(text, block=1, out=np.zeros(1, np.uint32), size=8, checks=("undefined",))


def test_after_a_launch_without_the_check_nothing_is_known(machine, fresh):
    machine.run(KERNEL.replace("AGAIN", ""), block=1, out=np.zeros(1, np.uint32), size=8)
    machine.run(KERNEL.replace("AGAIN", READ), block=1, out=np.zeros(1, np.uint32), size=8, checks=("undefined",))
