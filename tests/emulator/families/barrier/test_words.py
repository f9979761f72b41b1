"""Whole reports of named barriers that mix two groups of warps, and of barriers that not all threads reach together."""

import pytest

from dsl.emulator.faults import KernelWarning
from tests.emulator.check import test_divergence as divergence
from tests.emulator.families.barrier.test_check import PAIRS, outcome

REPORTS = {
    "two roles, one barrier": """\
BARRIER_COLLISION
    128 threads come to barrier 3, which counts 64: which of them go on is left open; warps 2-3 come here, warps 0-1 at PTX line 10
    in `k`, block (0, 0, 0)
    warps 2-3: PTX line 10: bar.sync 3, 64;
    warps 0-1: PTX line 10: bar.sync 3, 64;
fix: give each group of 64 threads its own barrier id""",
    "a producer that does not wait": """\
BARRIER_COLLISION
    warp 0 may come to barrier 1 again before warp 1 has come to it at PTX line 10: nothing makes it wait, and the barrier counts 64 threads, whoever they are
    in `k`, block (0, 0, 0)
    warp 0: PTX line 10: bar.arrive 1, 64;
    warp 1: PTX line 10: bar.sync 1, 64;
fix: let warp 1 answer by another barrier, which warp 0 waits at before the next round""",
    "arrivals alone": """\
BARRIER_COLLISION
    the 64 threads that barrier 1 counts all arrive and go on: nobody waits at it
    in `k`, block (0, 0, 0)
    warps 0-1: PTX line 10: bar.arrive 1, 64;
fix: let the warps that need it wait there (bar.sync 1, N), and count them in N too""",
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_names_both_groups(name):
    kernel, wrong, _, threads = PAIRS[name]
    assert str(outcome(kernel.format(**wrong), threads)) == REPORTS[name]


def test_an_arrival_for_which_nobody_can_wait_is_a_warning():
    with pytest.warns(
        KernelWarning, match=r"^BARRIER_NOT_AWAITED: .* arrives at barrier 1, and the kernel has no bar.sync"
    ):
        assert outcome("@!%w0 bra E; bar.arrive 1, 64; bar.sync 2, 32;", 64) is None


APART = {
    "a barrier in both arms": """\
DIVERGENT_BARRIER
    16 threads come to this barrier, 16 threads to the one at PTX line 10: all threads of a warp must reach the same one (it is aligned)""",
    "a warp's barrier that half goes past": """\
DIVERGENT_BARRIER
    warp 0 lanes 16-31 do not come to this barrier, though warp 0 lanes 0-15 wait: they go past it, to PTX line 10, and end
    in `k`, block (0, 0, 0)
    warp 0 lanes 0-15: PTX line 10: bar.warp.sync -1;
    warp 0 lanes 16-31: PTX line 10: st.global.u32 [%d], %t;
fix: move it out of the branch, so that all its threads reach it; or name in its mask only the lanes that come (here 0x0000ffff)""",
    "a shuffle that half goes past": """\
DIVERGENT_BARRIER
    warp 0 lanes 16-31 do not come to this `shfl.sync.idx.b32`, though warp 0 lanes 0-15 wait: they go past it, to PTX line 10, and end""",
}


@pytest.mark.parametrize("name", APART)
def test_the_report_names_threads_that_do_not_come_and_where_they_are(name):
    kernel, wrong, _, threads = divergence.PAIRS[name]
    text = str(outcome(divergence.REGISTERS + kernel.format(at=wrong), threads))
    assert text.startswith(APART[name])
