"""Loops that wait for other threads: they give way however they look at memory, and end where nobody comes."""

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.polling import polls

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b32 %r<20>, %t, %b; .reg .b64 %g, %d<6>; .reg .pred %p, %q;
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;
"""
SECOND_BLOCK = (
    "setp.eq.u32 %p, %b, {last}; @%p bra W; L: {poll} setp.ne.u32 %q, %r1, 7; @%q bra L; bra E; W: "
    "st.global.u32 [%g], 7;"
)
SECOND_WARP = (
    "setp.ge.u32 %p, %t, 32; @%p bra W; L: {poll} setp.ne.u32 %q, %r1, 7; @%q bra L; bra E; W: st.global.u32 [%g], 7;"
)
LOOKS = {
    "atom.add of 0": "atom.global.add.u32 %r1, [%g], 0;",
    "atom.or of 0": "atom.global.or.b32 %r1, [%g], 0;",
    "atom.max of 0": "atom.global.max.u32 %r1, [%g], 0;",
    "a plain load": "ld.global.u32 %r1, [%g];",
    "a generic load": "ld.u32 %r1, [%g];",
    "a volatile load": "ld.volatile.global.u32 %r1, [%g];",
    "a relaxed load": "ld.relaxed.gpu.global.u32 %r1, [%g];",
    "an atomic without a name": "atom.global.cas.b32 %r1, [%g], 9, 9;",
    "a load that is masked": "ld.global.u32 %r2, [%g]; and.b32 %r1, %r2, 255;",
}


def launch(body: str, grid: int, block: int, checks=()) -> np.ndarray:
    x = np.zeros(64, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(HEAD + body + "\nE: ret;\n}\n")
    emulator.launch(
        program, "k", (grid, 1, 1), (block, 1, 1), [x.ctypes.data.to_bytes(8, "little")], memory, checks=checks
    )
    return x


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("blocks", [2, 5])
def test_blocks_wait_for_the_last_one(look, blocks, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_WORKERS", "1")
    assert launch(SECOND_BLOCK.format(poll=LOOKS[look], last=blocks - 1), blocks, 1)[0] == 7


@pytest.mark.parametrize("look", LOOKS)
def test_a_warp_waits_for_the_next_one(look):
    assert launch(SECOND_WARP.format(poll=LOOKS[look]), 1, 64)[0] == 7


@pytest.mark.parametrize("look", LOOKS)
def test_a_wait_for_nobody_is_a_deadlock_with_its_line(look):
    with pytest.raises(emulator.Fault) as caught:
        launch(SECOND_BLOCK.format(poll=LOOKS[look], last=9), 2, 1)
    fault = caught.value
    assert fault.kind == "deadlock" and "for memory to change" in str(fault)
    assert fault.instruction == LOOKS[look].split(";")[0] + ";"


def test_a_loop_that_counts_what_it_does_is_none():
    body = "mov.u32 %r1, 0; L: ld.global.u32 %r2, [%g]; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 9; @%p bra L;"
    assert not _polls(body)
    bound_in_memory = (
        "mov.u32 %r1, 0; L: ld.global.u32 %r2, [%g]; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %r2; @%p bra L;"
    )
    assert not _polls(bound_in_memory)
    chain = "mov.u64 %d1, %g; L: ld.global.u64 %d1, [%d1]; setp.ne.u64 %p, %d1, 0; @%p bra L;"
    assert not _polls(chain)
    branch_inside = (
        "mov.u32 %r1, 0; L: ld.global.u32 %r2, [%g]; setp.eq.u32 %q, %r2, 0; @%q bra S; st.global.u32 "
        "[%g+4], 1; S: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 9; @%p bra L;"
    )
    assert not _polls(branch_inside)


def test_an_exit_in_the_middle_counts():
    body = "L: ld.global.u32 %r2, [%g]; setp.eq.u32 %q, %r2, 0; @%q bra S; bra E; S: st.global.u32 [%g+4], 1; bra L;"
    found = _polls(body)
    assert found["L"].instr.text == "ld.global.u32 %r2, [%g];" and not found["L"].idle


COUNTING = {
    "it counts rounds": "mov.u32 %r2, 0; L: atom.global.add.u32 %r1, [%g], 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, "
    "2000000000; setp.ne.u32 %q, %r1, 7; and.pred %q, %q, %p; @%q bra L;",
    "two exits": "mov.u32 %r2, 0; L: atom.global.max.s32 %r1, [%g], 0; setp.eq.s32 %p, %r1, 7; @%p bra E; add.u32 %r2, "
    "%r2, 1; setp.lt.u32 %q, %r2, 2000000000; @%q bra L;",
    "it goes on to the next place": "mov.u64 %d1, %g; mov.u32 %r2, 0; L: atom.global.or.b32 %r1, [%d1], 0; setp.eq.u32 "
    "%p, %r1, 7; selp.u64 %d2, 0, 0, %p; add.u64 %d1, %d1, %d2; selp.u32 %r3, 1, 0, %p; "
    "add.u32 %r2, %r2, %r3; setp.lt.u32 %q, %r2, 3; @%q bra L;",
    "a branch counts": "mov.u32 %r2, 0; L: atom.global.add.u32 %r1, [%g], 0; mov.u32 %r4, %r2; setp.ne.u32 %p, %r1, 7; "
    "@%p bra S; add.u32 %r4, %r2, 1; S: mov.u32 %r2, %r4; setp.lt.u32 %q, %r2, 3; @%q bra L;",
    "a predicate counts": "mov.u32 %r2, 0; L: atom.global.xor.b32 %r1, [%g], 0; setp.eq.u32 %p, %r1, 7; @%p add.u32 %r2, "
    "%r2, 1; setp.lt.u32 %q, %r2, 3; @%q bra L;",
    "it takes the least": "mov.u32 %r2, -1; L: atom.global.min.u32 %r1, [%g], 900; max.u32 %r2, %r2, %r1; atom.global.and."
    "b32 %r3, [%g], %r2; setp.ne.u32 %q, %r3, 7; @%q bra L;",
}


@pytest.mark.parametrize("wait", COUNTING)
def test_an_atomic_that_helps_to_decide_is_a_wait(wait, monkeypatch):
    """Whatever else the loop counts: the block that sets the word runs, on one thread of the host as on several."""
    body = "setp.eq.u32 %p, %b, 1; @%p bra W; " + COUNTING[wait] + " bra E; W: st.global.u32 [%g], 7;"
    found = _polls(body)
    assert not found["L"].at_once and found["L"].instr.opcode == "atom"
    for workers in ("1", "2"):
        monkeypatch.setenv("GPU_REPRO_WORKERS", workers)
        assert launch(body, 2, 1)[0] == 7


def test_an_atomic_that_decides_nothing_is_no_wait():
    bucket = (
        "mov.u32 %r2, 0; L: atom.global.add.u32 %r1, [%g], 1; setp.gt.u32 %p, %r1, 9; @%p bra S; st.global.u32 "
        "[%g+8], %r2; S: add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 20; @%q bra L;"
    )
    assert not _polls(bucket)
    assert launch(bucket, 1, 1)[0] == 20


def _polls(body: str) -> dict:
    return polls(parse(HEAD + body + "\nE: ret;\n}\n").functions["k"])


def test_tickets_are_no_deadlock_however_many():
    body = "L: atom.global.add.u32 %r1, [%g], 1; setp.lt.u32 %p, %r1, 2000000; @%p bra L;"
    assert launch(body, 1, 1)[0] == 2000001


def test_a_wait_that_ends_is_none_under_the_checks():
    body = SECOND_BLOCK.format(poll=LOOKS["a relaxed load"], last=1).replace("st.global", "st.relaxed.gpu.global")
    assert launch(body, 2, 1, ("race", "undefined"))[0] == 7
