"""cp.async.mbarrier.arrive in pairs: a kernel with a mistake, and the same kernel put right. PTX ISA 9.7.13.15.15."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

HEAD = """
.visible .entry k(.param .u64 out, .param .u64 source, .param .u32 count)
{
  .shared .align 16 .b8 tile[512]; .shared .align 8 .b8 bar[8];
  .reg .b32 %t, %s, %n, %v, %b, %c; .reg .b64 %o, %g, %x; .reg .pred %lead, %warp0, %done;
  mov.u32 %t, %tid.x; mov.u32 %n, tile; mad.lo.u32 %s, %t, 4, %n; mov.u32 %b, bar;
  xor.b32 %v, %t, 33; mad.lo.u32 %n, %v, 4, %n; mul.wide.u32 %x, %t, 4;
  ld.param.u64 %o, [out]; ld.param.u64 %g, [source]; ld.param.u32 %c, [count];
  add.u64 %o, %o, %x; add.u64 %g, %g, %x; setp.eq.u32 %lead, %t, 0; setp.lt.u32 %warp0, %t, 32;
  @%lead mbarrier.init.shared.b64 [%b], %c; bar.sync 0;
"""
END = "\nld.shared.u32 %v, [%n];\nst.global.u32 [%o], %v; ret;\n}\n"
COPY, SYNC = "cp.async.ca.shared.global [%s], [%g], 4;", "bar.sync 0;"
ARRIVE = "cp.async.mbarrier.arrive.noinc.shared.b64 [%b];"
ADDED = "cp.async.mbarrier.arrive.shared.b64 [%b];"
OWN = "mbarrier.arrive.shared.b64 %x, [%b];"
WAIT = "L: mbarrier.try_wait.parity.shared.b64 %done, [%b], 0; @!%done bra L;"
# name: (the wrong one, the right one, words of the report)
PAIRS = {
    "a barrier of the block in the place of the wait": (COPY + ARRIVE + SYNC, COPY + ARRIVE + WAIT,
                                                        "which a copy that was not waited for writes"),
    "the same, of an arrival more": (COPY + ADDED + OWN + SYNC, COPY + ADDED + OWN + WAIT,
                                     "which a copy that was not waited for writes"),
    "nothing in the place of the wait": (COPY + ARRIVE, COPY + ARRIVE + WAIT, "smem+0x"),
    "one warp waits": (COPY + ARRIVE + "@!%warp0 bra E;" + WAIT + "E:", COPY + ARRIVE + "@!%warp0 bra E;" + WAIT + "E:" + SYNC,
                       "smem+0x"),
    "a wait for the phase before": (COPY + ARRIVE + WAIT.replace("], 0", "], 1"), COPY + ARRIVE + WAIT,
                                    "smem+0x"),
    "a copy after the arrival": (ARRIVE + COPY + WAIT, COPY + ARRIVE + WAIT, "which a copy that was not waited for writes"),
    "a store after the arrival": (COPY + ARRIVE + "st.shared.u32 [%s], %t;" + WAIT,
                                  "st.shared.u32 [%s], %t;" + COPY + ARRIVE + WAIT, "smem+0x"),
    "the copies are waited for by their threads": (COPY + ARRIVE + "cp.async.wait_all;", COPY + ARRIVE + "cp.async.wait_all;" + SYNC,
                                                   "smem+0x"),
    "an arrival that the count does not have": (COPY + ADDED + WAIT, COPY + ADDED + OWN + WAIT, "0 of 64 arrivals have come"),
}  # fmt: skip


def outcome(
    machine, body: str, seed: int, checks=("race", "undefined"), count=64
) -> tuple[emulator.Fault | None, np.ndarray]:
    """The finding, and for each thread whether it got the word of the thread that it reads."""
    out, source = np.zeros(64, np.uint32), np.arange(64, dtype=np.uint32) + 5
    try:
        text = HEAD + body.replace("; ", ";").replace(";", ";\n") + END
        machine.run(text, block=64, seed=seed, checks=checks, out=out, source=source, count=count)
    except emulator.Fault as fault:
        return fault, out
    return None, out == source[np.arange(64) ^ 33]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_of_a_pair_is_found(machine, name, seed):
    wrong, _, text = PAIRS[name]
    fault, _ = outcome(machine, wrong, seed)
    assert fault is not None and text in str(fault), str(fault)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("checks", [(), ("race",), ("undefined",), ("race", "undefined")])
@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent_and_right(machine, name, seed, checks):
    fault, is_right = outcome(machine, PAIRS[name][1], seed, checks)
    assert fault is None, str(fault)
    assert is_right.all()


@pytest.mark.parametrize("name", ["a barrier of the block in the place of the wait", "a copy after the arrival"])
def test_without_a_wait_the_bytes_are_not_there(machine, name):
    assert not outcome(machine, PAIRS[name][0], 0, ())[1].any()


def test_the_fix_names_the_arrival(machine):
    fault, _ = outcome(machine, COPY + ARRIVE + SYNC, 0)
    assert str(fault).splitlines()[-1] == (
        "fix: let PTX line 18 wait for the phase of the mbarrier (mbarrier.try_wait) at which the copy arrives by "
        "cp.async.mbarrier.arrive at PTX line 15: a barrier of the block does not wait for it"
    )


@pytest.mark.parametrize("count, kind", [(64, None), (63, "mbarrier_lapped")])
def test_an_arrival_that_the_count_lacks_is_of_the_next_phase(machine, count, kind):
    """Though nobody reads the word of the thread that came last."""
    fault, _ = outcome(machine, COPY + ARRIVE + WAIT + "setp.eq.u32 %done, %t, 30; @%done ret;", 0, count=count)
    assert (fault and fault.kind) == kind, str(fault)
