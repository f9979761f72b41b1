"""Loops that wait for other threads: they give way however they look at memory, and end where nobody comes."""

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.table import prepare
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
    assert found["L"].instr.text == "ld.global.u32 %r2, [%g];" and found["L"].idle


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


def test_an_atomic_that_decides_nothing_is_not_a_wait():
    bucket = (
        "mov.u32 %r2, 0; L: atom.global.add.u32 %r1, [%g], 1; setp.gt.u32 %p, %r1, 9; @%p bra S; st.global.u32 "
        "[%g+8], %r2; S: add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 20; @%q bra L;"
    )
    assert not _polls(bucket)
    assert launch(bucket, 1, 1)[0] == 20


def _polls(body: str) -> dict:
    return polls(prepare(parse(HEAD + body + "\nE: ret;\n}\n")).functions["k"])


SWAP = """L: add.u32 %r2, %r1, 3; atom.relaxed.gpu.global.cas.b32 %r3, [%g], %r1, %r2; setp.ne.b32 %p, %r3, %r1;
  {}@%p bra L;"""


@pytest.mark.parametrize("body, ends", [
    (SWAP.format("mov.b32 %r1, %r3; "), True),
    (SWAP.format("mov.b32 %r1, %r3; ").replace("%r3, %r1;", "%r1, %r3;"), True),
    (SWAP.format(""), False),  # what it expects stays as it is
    (SWAP.format("mov.b32 %r1, %r2; "), False),
    (SWAP.format("mov.b32 %r1, %r3; ").replace("[%g], %r1,", "[%g], 0,"), False),  # a lock
    (SWAP.format("mov.b32 %r1, %r3; ").replace("ne", "eq"), False),
    (SWAP.format("mov.b32 %r1, %r3; ").replace("@%p", "@!%p"), False),
    (SWAP.format("mov.b32 %r1, %r3; ").replace("add", "ld.global.u32 %r9, [%g]; add"), False),
    (SWAP.format("mov.b32 %r1, %r3; ").replace("add", "add.s64 %g, %g, 4; add"), False),
    ("L: mov.b32 %r1, %r3; " + SWAP.format("").removeprefix("L: "), False),  # it compares what it has just copied
])  # fmt: skip
def test_a_loop_that_swaps_what_it_saw_ends_by_itself(body, ends):
    (poll,) = _polls(body).values()
    assert poll.ends == ends


def test_swaps_of_many_threads_and_blocks_add_up():
    body = "ld.global.u32 %r1, [%g]; " + SWAP.format("mov.b32 %r1, %r3; ")
    assert launch(body, 50, 96)[0] == 3 * 50 * 96


def test_any_number_of_tickets_is_not_a_deadlock():
    body = "L: atom.global.add.u32 %r1, [%g], 1; setp.lt.u32 %p, %r1, 2000000; @%p bra L;"
    assert launch(body, 1, 1)[0] == 2000001


def test_a_wait_that_ends_is_none_under_the_checks():
    body = SECOND_BLOCK.format(poll=LOOKS["a relaxed load"], last=1).replace("st.global", "st.relaxed.gpu.global")
    assert launch(body, 2, 1, ("race", "undefined"))[0] == 7


# ** loops in which threads meet: what they poll with, broadcast and vote about. Blocks of 64 threads, block 1 sets the word.

FUNCTIONS = """
.func (.param .b32 r) look(.param .b64 p)
{
  .reg .b64 %d; .reg .b32 %v;
  ld.param.u64 %d, [p]; atom.global.add.u32 %v, [%d], 0; st.param.b32 [r], %v; ret;
}
.func spin(.param .b64 p)
{
  .reg .b64 %d; .reg .b32 %v; .reg .pred %q;
  ld.param.u64 %d, [p]; S: bar.sync 0; ld.global.u32 %v, [%d]; setp.ne.u32 %q, %v, 7; @%q bra S; ret;
}
"""
AGAIN = "setp.ne.u32 %q, %r1, 7; @%q bra L;"
LOOK = "ld.global.u32 %r1, [%g];"
MEETING = {
    "a barrier": f"L: bar.sync 0; {LOOK} {AGAIN}",
    "a named barrier": f"L: bar.sync 1, 64; {LOOK} {AGAIN}",
    "a barrier of the warp": f"L: bar.warp.sync -1; {LOOK} {AGAIN}",
    "a barrier of the cluster": f"L: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; {LOOK} {AGAIN}",
    "one thread tells the block": "L: bar.sync 0; @%first ld.global.u32 %r2, [%g]; @%first st.shared.u32 [s], %r2; "
    f"bar.sync 0; ld.shared.u32 %r1, [s]; {AGAIN}",
    "one thread tells the block, after a branch": "L: bar.sync 0; @!%first bra S; ld.volatile.global.u32 %r2, [%g]; "
    f"st.shared.u32 [s], %r2; S: bar.sync 0; ld.shared.u32 %r1, [s]; {AGAIN}",
    "the loop begins in its middle": "bra M; L: bar.sync 0; ld.shared.u32 %r1, [s]; setp.ne.u32 %q, %r1, 7; @%q bra M; bra E; "
    "M: bar.sync 0; @!%first bra L; atom.global.or.b32 %r2, [%g], 0; st.shared.u32 [s], %r2; bra L;",
    "a lock of Triton": "L: @%first atom.global.acq_rel.gpu.cas.b32 %r2, [%g], 9, 1; @%first st.shared.u32 [s], %r2; "
    f"bar.sync 0; ld.shared.u32 %r1, [s]; bar.sync 0; {AGAIN}",
    "an answer that is cleared first": "L: @%first st.shared.u32 [s], 0; bar.sync 0; @!%first bra S; ld.global.u32 %r2, [%g]; "
    f"setp.ne.u32 %p, %r2, 7; @%p bra S; st.shared.u32 [s], 7; S: bar.sync 0; ld.shared.u32 %r1, [s]; bar.sync 0; {AGAIN}",
    "a shuffle": f"mov.u32 %r2, 0; L: @%lead ld.global.u32 %r2, [%g]; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; {AGAIN}",
    "a shuffle of what is kept": "mov.u32 %r1, 0; L: mov.u32 %r2, %r1; @!%lead bra S; ld.global.u32 %r2, [%g]; "
    f"S: shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; {AGAIN}",
    "a vote": f"L: {LOOK} setp.eq.u32 %q, %r1, 7; vote.sync.any.pred %p, %q, -1; @!%p bra L;",
    "a reduction of the block": f"L: {LOOK} setp.eq.u32 %q, %r1, 7; bar.red.or.pred %p, 0, %q; @!%p bra L;",
    "a count of the block": f"L: {LOOK} setp.eq.u32 %q, %r1, 7; bar.red.popc.u32 %r3, 0, %q; setp.eq.u32 %p, %r3, 0; @%p bra L;",
    "a reduction of the warp": f"L: ld.global.u32 %r2, [%g]; redux.sync.max.u32 %r1, %r2, -1; {AGAIN}",
    "a pause that grows": "mov.u32 %r5, 8; L: bar.sync 0; nanosleep.u32 %r5; setp.lt.u32 %p, %r5, 256; @%p shl.b32 %r5, %r5, 1; "
    f"{LOOK} {AGAIN}",
    "a loop that passes time": "L: bar.sync 0; mov.u32 %r5, 0; D: add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 20; @%p bra D; "
    f"{LOOK} {AGAIN}",
    "looks in an inner loop": f"L: bar.sync 0; mov.u32 %r5, 0; D: {LOOK} bar.sync 0; add.u32 %r5, %r5, 1; "
    f"setp.lt.u32 %p, %r5, 20; @%p bra D; {AGAIN}",
    "a function looks": "L: bar.sync 0; { .param .b64 a; .param .b32 c; st.param.b64 [a], %g; call.uni (c), look, (a); "
    f"ld.param.b32 %r1, [c]; }} {AGAIN}",
    "a function waits": "{ .param .b64 a; st.param.b64 [a], %g; call.uni spin, (a); }",
    "a function waits, in a loop": "mov.u32 %r5, 0; N: { .param .b64 a; st.param.b64 [a], %g; call.uni spin, (a); } "
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 3; @%p bra N;",
    "one thread waits, the others for it": f"@!%first bra S; L: {LOOK} {AGAIN} S: bar.sync 0;",
}
SETUP = (
    ".reg .pred %first, %lead; .shared .align 4 .b32 s[64]; setp.eq.u32 %first, %t, 0; and.b32 %r0, %t, 31; "
    "setp.eq.u32 %lead, %r0, 0; setp.eq.u32 %p, %b, {last}; @%p bra W; "
)


def meet(body: str, blocks: int, last: int, checks=(), threads=64) -> None:
    """Launch blocks that run `body`, except block `last`, which sets the word."""
    text = HEAD.replace(".visible", FUNCTIONS + ".visible") + SETUP.format(last=last) + body
    x = np.zeros(64, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(text + " bra E; W: st.relaxed.gpu.global.u32 [%g], 7;\nE: ret;\n}\n")
    parameters = [x.ctypes.data.to_bytes(8, "little")]
    emulator.launch(program, "k", (blocks, 1, 1), (threads, 1, 1), parameters, memory, checks=checks)


@pytest.mark.parametrize("name", MEETING)
def test_threads_that_meet_while_they_wait_let_other_blocks_run(name, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_WORKERS", "1")
    meet(MEETING[name], 2, 1)


@pytest.mark.parametrize("name", MEETING)
def test_threads_that_meet_while_they_wait_for_nobody_are_a_deadlock(name):
    with pytest.raises(emulator.Fault) as caught:
        meet(MEETING[name], 1, 9, ("undefined",))
    assert caught.value.kind == "deadlock" and "for memory to change" in str(caught.value)


def test_the_report_names_what_is_looked_at_and_where_threads_meet():
    with pytest.raises(emulator.Fault) as caught:
        meet(MEETING["the loop begins in its middle"], 1, 9, ("undefined",))
    assert (
        str(caught.value)
        == """DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `atom.global.or.b32 %r2, [%g], 0;`, PTX line 19
        for memory to change, but every thread that runs only waits
        and meets others at `bar.sync 0;`, PTX line 19"""
    )


ROUNDS = 1 << 14 | 1 << 10
TRIES = f"add.u32 %r2, %r2, 1; setp.gt.u32 %p, %r2, {ROUNDS};"
LONG = {
    "it counts its looks": f"mov.u32 %r2, 0; L: ld.volatile.global.u32 %r1, [%g]; {TRIES} @!%p bra L;",
    "it gives up": f"mov.u32 %r2, 0; L: bar.sync 0; {LOOK} {TRIES} @%p bra E; {AGAIN}",
    "it asks a clock": "mov.u64 %d1, %clock64; L: nanosleep.u32 20; mov.u64 %d2, %clock64; sub.u64 %d3, %d2, %d1; "
    "setp.lt.u64 %q, %d3, 30000000; @%q bra L;",
    "it gives up by shared memory": f"st.shared.u32 [s], 0; mov.u32 %r2, 0; L: bar.sync 0; {TRIES} @%p st.shared.u32 [s], 7; "
    f"bar.sync 0; ld.shared.u32 %r1, [s]; {AGAIN}",
    "it gives up after a branch": f"st.shared.u32 [s], 0; mov.u32 %r2, 0; L: bar.sync 0; {TRIES} @!%p bra S; "
    f"st.shared.u32 [s], 7; S: bar.sync 0; ld.shared.u32 %r1, [s]; {AGAIN}",
    "it counts in shared memory": "st.shared.u32 [s], 0; L: bar.sync 0; @!%first bra S; ld.shared.u32 %r2, [s]; "
    "add.u32 %r2, %r2, 1; st.shared.u32 [s], %r2; S: bar.sync 0; ld.shared.u32 %r1, [s]; "
    f"setp.lt.u32 %q, %r1, {ROUNDS}; @%q bra L;",
    "another warp works between barriers": f"setp.ge.u32 %p, %t, 32; @%p bra V; L: bar.sync 1, 32; {LOOK} {AGAIN} bra E; "
    f"V: mov.u32 %r2, 0; M: bar.sync 2, 32; {TRIES} @!%p bra M; st.relaxed.gpu.global.u32 [%g], 7;",
    "another warp works with shuffles": f"setp.ge.u32 %p, %t, 32; @%p bra V; L: bar.sync 1, 32; {LOOK} {AGAIN} bra E; "
    f"V: mov.u32 %r2, 0; M: shfl.sync.idx.b32 %r2, %r2, 0, 31, -1; {TRIES} @!%p bra M; st.relaxed.gpu.global.u32 [%g], 7;",
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_a_long_wait_that_ends_by_itself_is_not_a_deadlock(name):
    """More rounds than a wait for nobody lasts in checked code."""
    meet(LONG[name], 1, 9, ("undefined",))


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_longer_wait_that_ends_by_itself_is_not_a_deadlock(name):
    meet(LONG[name].replace(str(ROUNDS), str(300_000)), 1, 9)


def test_a_wait_that_begins_where_a_loop_begins_is_idle():
    """Compilers leave out an empty block between both: two branches lead back to one label."""
    body = f"mov.u32 %r2, 0; L: {LOOK} {AGAIN} st.relaxed.gpu.global.u32 [%g], 0; add.u32 %r2, %r2, 1; "
    body += "setp.lt.u32 %q, %r2, 2; @%q bra L; bra E;"
    with pytest.raises(emulator.Fault, match="for memory to change, but every thread that runs only waits"):
        launch(body, 1, 1, ("race",))
