"""Whole fixes of races with copies that an mbarrier tells of: the phase, the lane that gave a slot back, other blocks."""

import pytest

from tests.emulator.families.bulk import test_check as test_bulk_flight
from tests.emulator.families.mbarrier import test_check

FIXES = {
    "the phase before is waited for again": """\
let the thread at line 8 wait for the next phase of the full mbarrier (`pipeline.consumer_wait`); the wait at line 7 is \
for phase 0 (parity 0), which the thread had waited for before""",
    "a lane gives the slot back before its warp has read": """\
lane 0 arrives at the empty mbarrier for its warp: put a barrier of the warp (bar.warp.sync, `cute.arch.sync_warp`) \
between line 3 and that arrival""",
    "a slot is loaded again, not given back": """\
let line 6 wait for the slot's empty mbarrier (`pipeline.producer_acquire`), where this thread arrives after line 3: \
line 3 waits for phase 0 of the full one, the copy is for phase 1""",
}


@pytest.mark.parametrize("name", FIXES)
def test_the_fix_names_the_phase_or_the_lane(name):
    fault = test_bulk_flight.outcome(test_bulk_flight.both(name)[0])
    assert str(fault).split("\nfix: ")[1] == FIXES[name]


TEXTS = {
    "a multicast to a block that has exited": """\
EXITED_BLOCK
    copy of 256 bytes at smem+0x0 of block (1, 0, 0), which has exited
    in `k`, block (0, 0, 0), thread (0, 0, 0) = warp 0, lane 0
    PTX line 28: @%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
[%a], [%x], 256, [%b], 3;
fix: leave the block out of the multicast's mask, or let no block end before the others have made their last \
access to its shared memory: barrier.cluster.arrive and .wait at the end of the kernel \
(cute.arch.cluster_arrive and cluster_wait)""",
    "a multicast that is read before its phase": """\
RACE
    reads smem+0x0, which the bulk copy at PTX line 23 still writes: nobody has waited for it
    in `k`, 4 bytes of smem+0x0
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (1, 0, 0): PTX line 27: ld.shared.u32 %w, [%a];
    copied to thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 23: @%q \
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%w], [%x], 256, [%b], 3;
fix: wait for the phase of the full mbarrier that the copy at PTX line 23 signals (`pipeline.consumer_wait`) \
before this instruction""",
    "a copy between blocks is not waited for": """\
RACE
    copies to smem+0x80 of block (1, 0, 0), which a thread of another block read at PTX line 37: the slot was \
not given back
    in `k`, 128 bytes of smem+0x80 of block (1, 0, 0)
    copies to thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 33: @%first \
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%p], [%a], 128, [%m];
    read     thread (32, 0, 0) = warp 1, lane 0 of block (1, 0, 0): PTX line 37: ld.shared.u32 %w, [%a];
fix: let the thread at PTX line 37 wait for the full mbarrier of the slot (`pipeline.consumer_wait`); if it \
reads what was there before, let this instruction wait for the slot's empty mbarrier \
(`pipeline.producer_acquire`)""",
    "the source of a copy between blocks is written again": """\
RACE
    writes smem+0x0, which the copy at PTX line 27 to another block still reads: it was not waited for
    in `k`, 4 bytes of smem+0x0
    writes   thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 33: @%first st.shared.u32 [%a], \
%t;
    read     thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 27: @%first \
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%p], [%a], 128, [%m];
fix: let that block wait for the phase of its mbarrier, and then arrive at one of this block (mapa, \
mbarrier.arrive.release.cluster) that this instruction waits for""",
    "a multicast to an mbarrier that is not made yet": """\
MBARRIER_NOT_VISIBLE
    signals the mbarrier at smem+0x100 of block (1, 0, 0), whose mbarrier.init it may not see yet
    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0)
    PTX line 21: @%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
[%w], [%x], 256, [%b], 3;
fix: after mbarrier.init let its thread fence (fence.mbarrier_init.release.cluster, \
cute.arch.mbarrier_init_fence), then the blocks meet (barrier.cluster.arrive and .wait) before any arrives""",
    "an own mbarrier that is not made yet": """\
MBARRIER_NOT_VISIBLE
    arrives at the mbarrier at smem+0x100, whose mbarrier.init it may not see yet
    in `k`, thread (1, 0, 0) = warp 0, lane 1 of block (1, 0, 0)
    PTX line 13: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%b];
fix: put a barrier of the block (bar.sync, cute.arch.sync_threads) between mbarrier.init and the first use by \
another thread""",
    "a block ends before its multicast has come": """\
EXITED_BLOCK
    copies to smem+0x0 of block (1, 0, 0), which ends before the copy has landed: no thread of it waits for \
that
    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0)
    PTX line 23: @%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
[%w], [%x], 256, [%b], 3;
fix: let a thread of that block wait, before the block ends, for the phase of the mbarrier that the copy \
signals (`pipeline.consumer_wait`), and load no stage that nobody reads""",
    "a store that comes by itself into what is read": """\
RACE
    reads smem+0x0, which the asynchronous store at PTX line 24 still writes: nobody has waited for it
    in `k`, 4 bytes of smem+0x0
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 22: ld.shared.u32 %w, [%a];
    wrote    thread (0, 0, 0) = warp 0, lane 0 of block (1, 0, 0): PTX line 24: \
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%p], %t, [%m];
fix: wait for the phase of the full mbarrier that the store at PTX line 24 signals (`pipeline.consumer_wait`) \
before this instruction""",
    "a second multicast into a slot that is not given back": """\
RACE
    copies to smem+0x4, which another thread read at PTX line 35: the slot was not given back
    in `k`, 256 bytes of smem+0x4
    copies to thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 48: @%q \
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%w], [%x], 256, [%b], 3;
    read     thread (1, 0, 0) = warp 0, lane 1 of block (0, 0, 0): PTX line 35: ld.shared.u32 %w, [%a];
fix: let this instruction wait for the slot's empty mbarrier (`pipeline.producer_acquire`); who reads or \
writes the slot arrives there after PTX line 35""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_copy_between_blocks(machine, name):
    wrong = next(row[1] for row in test_check.PAIRS if row[0] == name)
    fault = test_check.outcome(machine, test_check.body_of(wrong), 0)
    assert str(fault) == TEXTS[name]
