"""Deadlocks of pipelines, whole: what each stage is in, who has it, whose bytes are missing. A ring of two stages that
warp 2 fills by bulk copies and warps 0 and 1 read, and the same with one mistake.

Modules tested here: dsl/emulator/families/mbarrier/deadlock.py.
"""

import numpy as np
import pytest

from dsl import emulator

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.file 1 "ring.py"
.visible .entry k(.param .u64 x)
{
  .reg .b32 %t, %s, %m, %w, %i, %st, %ph, %fu, %em, %v; .reg .b64 %g, %q; .reg .pred %p, %c, %lead, %prod;
  .shared .align 1024 .b8 smem[1024]; .shared .align 8 .b64 bars[4];
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.eq.u32 %lead, %t, 0; mov.u32 %em, bars;
  @!%lead bra BEGIN; mbarrier.init.shared.b64 [%em], 1; mbarrier.init.shared.b64 [%em+8], 1;
  mbarrier.init.shared.b64 [%em+16], COUNT; mbarrier.init.shared.b64 [%em+24], COUNT; fence.mbarrier_init.release.cluster; BEGIN: bar.sync 0;
  setp.eq.u32 %prod, %w, 2; mov.u32 %i, 0; @%prod bra PRODUCE;
"""
BODY = """LOOP: and.b32 %st, %i, 1; shr.u32 %ph, %i, 1; and.b32 %ph, %ph, 1; mad.lo.u32 %fu, %st, 8, %em; PARITY
FULL_WAIT
shl.b32 %m, %st, 9; mov.u32 %s, smem; add.u32 %s, %s, %m; FIRST ld.shared.b32 %v, [%s];
GIVES mbarrier.arrive.shared.b64 %q, [%fu+16];
add.u32 %i, %i, 1; setp.lt.u32 %c, %i, READ; @%c bra LOOP; bra DONE;
PRODUCE: setp.ne.u32 %lead, %t, 64; @%lead bra DONE;
NEXT: and.b32 %st, %i, 1; shr.u32 %ph, %i, 1; and.b32 %ph, %ph, 1; xor.b32 %ph, %ph, 1; mad.lo.u32 %fu, %st, 8, %em;
EMPTY_WAIT
mbarrier.arrive.expect_tx.shared.b64 %q, [%fu], EXPECTED;
shl.b32 %m, %st, 9; mov.u32 %s, smem; add.u32 %s, %s, %m;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], COPIED, [%fu];
add.u32 %i, %i, 1; setp.lt.u32 %c, %i, FILLED; @%c bra NEXT;
DONE:"""
RIGHT = {"COUNT": "64", "PARITY": "", "GIVES": "", "READ": "4", "FILLED": "4", "EXPECTED": "256", "COPIED": "256",
         "FULL_WAIT": "F: mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph; @!%p bra F;",
         "EMPTY_WAIT": "E: mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph; @!%p bra E;", "FIRST": ""}  # fmt: skip
# name: (what is changed, the text)
WRONG = {
    "an mbarrier of too many arrivals": ({"COUNT": "65"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 1 of the mbarrier at smem+0x400 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 0 of the mbarrier at smem+0x410 to end: 64 of 65 arrivals have come,
        and no thread arrives at the mbarrier any more
        (all that ever arrived have: warps 0-1; mbarrier.init requires 65)
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: filled: 64 of 65 arrivals at the empty one; full in parity 1, empty in parity 0
        stage 1: filled: 64 of 65 arrivals at the empty one; full in parity 1, empty in parity 0
fix: init the mbarrier smem+0x410 with 64 arrivals, or let each of the 65 that it counts arrive"""),
    "a thread that gives nothing back": ({"GIVES": "setp.eq.u32 %p, %t, 5; @!%p"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 1 of the mbarrier at smem+0x400 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 0 of the mbarrier at smem+0x410 to end: 63 of 64 arrivals have come,
        and no thread arrives at the mbarrier any more
        (all that ever arrived have: warps 0-1; mbarrier.init requires 64)
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: filled: 63 of 64 arrivals at the empty one; full in parity 1, empty in parity 0
        stage 1: filled: 63 of 64 arrivals at the empty one; full in parity 1, empty in parity 0
fix: init the mbarrier smem+0x410 with 63 arrivals, or let each of the 64 that it counts arrive"""),
    "readers that give nothing back": ({"GIVES": "setp.eq.u32 %p, %t, 999; @%p"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 1 of the mbarrier at smem+0x400 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 0 of the mbarrier at smem+0x410 to end: 0 of 64 arrivals have come,
        and no thread arrives at the mbarrier any more
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: filled, warps 0-1 to give it back: 0 of 64 arrivals at the empty one; full in parity 1, empty \
in parity 0
        stage 1: filled, warps 0-1 to give it back: 0 of 64 arrivals at the empty one; full in parity 1, empty \
in parity 0
fix: let warps 0-1 arrive at the empty mbarrier smem+0x410 when the stage is read (`pipeline.consumer_release`)"""),
    "a warp that gives the second stage not back": (
        {"GIVES": "setp.eq.u32 %p, %i, 0; setp.eq.or.u32 %p, %w, 0, %p; @%p"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 1 of the mbarrier at smem+0x408 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 0 of the mbarrier at smem+0x418 to end: 32 of 64 arrivals have come,
        and no thread arrives at the mbarrier any more
        (warp 0 arrived, warp 1 did not)
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: filled, warp 1 to give it back: 32 of 64 arrivals at the empty one; full in parity 0, empty \
in parity 1
        stage 1: filled, warp 1 to give it back: 32 of 64 arrivals at the empty one; full in parity 1, empty \
in parity 0
fix: let warp 1 arrive at the empty mbarrier smem+0x418 when the stage is read (`pipeline.consumer_release`)"""),
    "more bytes expected than copied": ({"EXPECTED": "512"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 0 of the mbarrier at smem+0x400 to end: 1 of 1 arrivals have come, and 256 \
bytes that were expected have not,
        and no thread arrives at the mbarrier any more
        (ring.py:9 expects 512 bytes, the copies of ring.py:11 brought 256)
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 0 of the mbarrier at smem+0x410 to end: 0 of 64 arrivals have come,
        and no thread arrives at the mbarrier any more
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: being filled: 1 of 1 arrivals and 256 of 512 bytes; full in parity 0, empty in parity 0
        stage 1: being filled: 1 of 1 arrivals and 256 of 512 bytes; full in parity 0, empty in parity 0
fix: expect 256 bytes at ring.py:9, or let the copies of ring.py:11 bring 512"""),
    "fewer bytes expected than copied": ({"EXPECTED": "128"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 0 of the mbarrier at smem+0x400 to end: 1 of 1 arrivals have come, and 128 \
bytes more than were expected,
        and no thread arrives at the mbarrier any more
        (ring.py:9 expects 128 bytes, the copies of ring.py:11 brought 256)
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 0 of the mbarrier at smem+0x410 to end: 0 of 64 arrivals have come,
        and no thread arrives at the mbarrier any more
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: being filled: 1 of 1 arrivals and 256 of 128 bytes; full in parity 0, empty in parity 0
        stage 1: being filled: 1 of 1 arrivals and 256 of 128 bytes; full in parity 0, empty in parity 0
fix: expect 256 bytes at ring.py:9, or let the copies of ring.py:11 bring 128"""),
    "a stage that nobody fills": ({"FILLED": "3"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 1 of the mbarrier at smem+0x408 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    exited: warp 2
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: empty, warp 2 to fill it: 0 of 1 arrivals at the full one; full in parity 0, empty in parity \
0
        stage 1: empty, warp 2 to fill it: 0 of 1 arrivals at the full one; full in parity 1, empty in parity \
1
fix: let warp 2 fill the stage of the full mbarrier smem+0x408 (`pipeline.producer_commit`), or wait for one \
less"""),
    "the same parity in each round": ({"PARITY": "mov.b32 %ph, 0;"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 0 of the mbarrier at smem+0x400 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    exited: warp 2
    the pipeline of 2 stages, full at smem+0x400, empty at smem+0x410:
        stage 0: filled, warps 0-1 to give it back: 0 of 64 arrivals at the empty one; full in parity 0, \
empty in parity 1
        stage 1: filled, warps 0-1 to give it back: 0 of 64 arrivals at the empty one; full in parity 0, \
empty in parity 1
fix: wait for parity 1 at ring.py:2: the stage of smem+0x400 is filled, and warps 0-1 wait for another of its \
phases; the parity changes each time that the ring comes round"""),
    "consumers that begin with parity 1": ({"PARITY": "xor.b32 %ph, %ph, 1;"}, """\
ring.py:2:1: DEADLOCK
    no thread can continue in block (0, 0, 0) of `k`
    warps 0-1 wait at `mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph;` (ring.py:2), PTX line 16
        for the phase of parity 0 of the mbarrier at smem+0x400 to end: 0 of 1 arrivals have come,
        and no thread arrives at the mbarrier any more
    warp 2 lane 0 waits at `mbarrier.try_wait.parity.shared.b64 %p, [%fu+16], %ph;` (ring.py:8), PTX line 28
        for the phase of parity 1 of the mbarrier at smem+0x410 to end: 0 of 64 arrivals have come,
        and no thread arrives at the mbarrier any more
    exited: warp 2 lanes 1-31
    the pipeline of 2 stages, full at smem+0x410, empty at smem+0x400:
        stage 0: filled, warp 2 to give it back: 0 of 1 arrivals at the empty one; full in parity 1, empty in \
parity 0
        stage 1: filled: 0 of 1 arrivals at the empty one; full in parity 1, empty in parity 0
fix: let warps 0-1 fill the stage of the full mbarrier smem+0x410 (`pipeline.producer_commit`), or wait for \
one less; only a producer's first wait is for parity 1, a consumer's is for 0"""),
}  # fmt: skip


def outcome(changes: dict[str, str], seed: int = 0, checks=()) -> emulator.Fault | None:
    """The fault of a launch of three warps, or None."""
    body, head = BODY, HEAD
    for name, text in (RIGHT | changes).items():
        body, head = body.replace(name, text), head.replace(name, text)
    lines = [f".loc 1 {i + 1} 1\n{line}" for i, line in enumerate(body.split("\n"))]
    program = emulator.load(head + "\n".join(lines) + "\n ret;\n}")
    raw = np.zeros(512, np.uint32)
    x = raw[-raw.ctypes.data % 128 // 4 :][:256]
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    params = [x.ctypes.data.to_bytes(8, "little")]
    try:
        emulator.launch(program, "k", (1, 1, 1), (96, 1, 1), params, memory, checks=checks, seed=seed)
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("checks", [(), ("race",)])
def test_the_right_one_is_silent(seed, checks):
    assert outcome({}, seed, checks) is None


@pytest.mark.parametrize("name", WRONG)
def test_the_text_of_a_deadlock(name):
    changes, text = WRONG[name]
    assert str(outcome(changes)) == text


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_wrong_one_is_found_in_every_schedule(name, seed):
    fault = outcome(WRONG[name][0], seed)
    assert fault is not None and fault.kind == "deadlock" and "\nfix: " in str(fault)


RELEASE = "mbarrier.arrive.shared.b64 %q, [%fu+16];"
RACES = {
    "a producer that does not wait for the empty slot": ({"EMPTY_WAIT": ""}, "(`pipeline.producer_acquire`)"),
    "a consumer that does not wait for the full slot": ({"FULL_WAIT": ""}, "(`pipeline.consumer_wait`)"),
    "a slot that is given back before it is read": ({"FIRST": RELEASE, "GIVES": "setp.ne.u32 %p, %t, %t; @%p"}, "(`pipeline.producer_acquire`)"),
    "one thread that waits for its warp": (
        {"FULL_WAIT": "and.b32 %m, %t, 31; setp.ne.u32 %c, %m, 0; @%c bra G; "
                      "F: mbarrier.try_wait.parity.shared.b64 %p, [%fu], %ph; @!%p bra F; G:"}, "(`pipeline.consumer_wait`)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_race_in_the_ring(name, seed):
    """Which of two threads comes first is chance, and where readers are ahead of the copies the ring may also stop."""
    changes, fix = RACES[name]
    fault = outcome(changes, seed, ("race",))
    assert fault is not None and fault.kind in ("race", "deadlock"), str(fault)
    assert fix in str(fault) or fault.kind == "deadlock" or "`pipeline." in str(fault).split("\nfix: ")[1], str(fault)
