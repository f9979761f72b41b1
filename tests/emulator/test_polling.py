"""Loops that wait for other threads: they give way however they look at memory, and end where nobody comes."""

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.parse import parse
from dsl.emulator.polling import polls

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b32 %r<20>, %t, %b; .reg .b64 %g, %d<6>; .reg .pred %p, %q;
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;
"""
SECOND_BLOCK = ("setp.eq.u32 %p, %b, {last}; @%p bra W; L: {poll} setp.ne.u32 %q, %r1, 7; @%q bra L; bra E; W: "
                "st.global.u32 [%g], 7;")
SECOND_WARP = ("setp.ge.u32 %p, %t, 32; @%p bra W; L: {poll} setp.ne.u32 %q, %r1, 7; @%q bra L; bra E; W: "
               "st.global.u32 [%g], 7;")
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
    emulator.launch(program, "k", (grid, 1, 1), (block, 1, 1), [x.ctypes.data.to_bytes(8, "little")], memory,
                    checks=checks)
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
    bound_in_memory = ("mov.u32 %r1, 0; L: ld.global.u32 %r2, [%g]; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %r2; @%p "
                       "bra L;")
    assert not _polls(bound_in_memory)
    chain = "mov.u64 %d1, %g; L: ld.global.u64 %d1, [%d1]; setp.ne.u64 %p, %d1, 0; @%p bra L;"
    assert not _polls(chain)
    branch_inside = ("mov.u32 %r1, 0; L: ld.global.u32 %r2, [%g]; setp.eq.u32 %q, %r2, 0; @%q bra S; st.global.u32 "
                     "[%g+4], 1; S: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 9; @%p bra L;")
    assert not _polls(branch_inside)


def test_an_exit_in_the_middle_counts():
    body = "L: ld.global.u32 %r2, [%g]; setp.eq.u32 %q, %r2, 0; @%q bra S; bra E; S: st.global.u32 [%g+4], 1; bra L;"
    found = _polls(body)
    assert found["L"].instr.text == "ld.global.u32 %r2, [%g];" and not found["L"].idle


def _polls(body: str) -> dict:
    return polls(parse(HEAD + body + "\nE: ret;\n}\n").functions["k"])


def test_tickets_are_no_deadlock_however_many():
    body = "L: atom.global.add.u32 %r1, [%g], 1; setp.lt.u32 %p, %r1, 2000000; @%p bra L;"
    assert launch(body, 1, 1)[0] == 2000001


def test_a_wait_that_ends_is_none_under_the_checks():
    body = SECOND_BLOCK.format(poll=LOOKS["a relaxed load"], last=1).replace("st.global", "st.relaxed.gpu.global")
    assert launch(body, 2, 1, ("race", "undefined"))[0] == 7
