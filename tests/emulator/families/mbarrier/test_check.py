"""Mistakes between blocks of a cluster, in pairs: the wrong program is found in three schedules, the right one is silent.

Modules tested here: dsl/emulator/check/clocks.py, dsl/emulator/families/cluster/check.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
HEAD = """
.visible .entry k(.param .u64 out, .param .u64 from)
{
  .shared .align 16 .b32 box[64]; .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2;
  .reg .b32 %t, %a, %b, %r, %o, %v, %w, %p, %m; .reg .b64 %g, %x, %s; .reg .pred %q, %z, %first, %done;
  mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; xor.b32 %o, %r, 1; mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a;
  mov.u32 %b, bar; mapa.shared::cluster.u32 %p, %a, %o; mapa.shared::cluster.u32 %m, %b, %o;
  setp.eq.u32 %first, %t, 0; setp.eq.u32 %z, %r, 0; ld.param.u64 %g, [out]; ld.param.u64 %x, [from]; mov.u32 %v, 7;
"""
INIT = "@%first mbarrier.init.shared.b64 [%b], 64;"
READY = INIT + "@%first fence.mbarrier_init.release.cluster;" + MEET
WAIT = "W{}: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%b], 0; @!%done bra W{};".replace(
    "{}", "1"
)
ARRIVE = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%m];"
STORE, LOAD, STORE_THERE, LOAD_THERE = (
    "st.shared.u32 [%a], %t;", "ld.shared.u32 %w, [%a];", "st.shared::cluster.u32 [%p], %t;",
    "ld.shared::cluster.u32 %w, [%p];")  # fmt: skip
VECTOR = "and.b32 %w, %t, 48; mov.u32 %a, box; mad.lo.u32 %w, %w, 4, %a; mapa.shared::cluster.u32 %w, %w, %o;"
VECTOR += "ld.shared::cluster.v4.u32 {%v, %p, %m, %b}, [%w];"
GENERIC = "cvt.u64.u32 %s, %a; cvta.shared.u64 %s, %s; mapa.u64 %s, %s, %o; ld.u32 %w, [%s];"
FLAG = "mov.u32 %a, box; mapa.shared::cluster.u32 %p, %a, 1; @%z bra sets;" \
       "P: {acquire}ld.{how}.cluster.shared::cta.u32 %w, [%a+4]; setp.ne.u32 %q, %w, 7; @%q bra P; ld.shared.u32 %w, [%a]; bra end;" \
       "sets: @!%first bra end; st.shared::cluster.u32 [%p], %t; st.{does}.cluster.shared::cluster.u32 [%p+4], %v; end:"  # fmt: skip
ZERO = "mov.u32 %w, 0; st.shared.u32 [%a], %w;" + MEET
CAST = "@%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], {tx}; and.pred %q, %first, %z; mov.u32 %a, box; @%q " \
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%a], [%x], 256, [%b], 3;"  # fmt: skip
INTO = "@%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256;" \
       "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%p], [%x], 256, [%m];"  # fmt: skip
EXPECT = "@%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256;"
SEND = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%p], %t, [%m];"
ADD = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%p], %t, [%m];"
PUSH = "mov.u32 %a, box; mapa.shared::cluster.u32 %p, %a, %o; add.u32 %p, %p, 128; @%first " \
       "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%p], [%a], 128, [%m];"  # fmt: skip
PUSHED = "mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a;"  # puts %a right again
EXPECT_HALF = EXPECT.replace("256", "128")
PROXY = "fence.proxy.async.shared::cta;"
TO_BOTH = EXPECT + "and.pred %q, %first, %z; mov.u32 %w, box; @%q cp.async.bulk.shared::cluster.global" \
          ".mbarrier::complete_tx::bytes.multicast::cluster [%w], [%x], 256, [%b], 3;"  # fmt: skip
AGAIN = WAIT.replace("W1", "W2").replace("[%b], 0", "[%b], 1")
GIVE_BACK = (
    "mov.u32 %w, bar2; mapa.shared::cluster.u32 %v, %w, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v];"
)
EMPTY = "@!%q bra W4; W3: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%w], 0; @!%done bra W3; W4:"
RING = "mov.u32 %w, bar2; @%first mbarrier.init.shared.b64 [%w], 128;"
ONE = "@%first mbarrier.init.shared.b64 [%b], 1; @%first fence.mbarrier_init.release.cluster;" + MEET

_GIVEN = TO_BOTH.replace("mov.u32 %w, box;", "mov.u32 %w, bar2;" + EMPTY + "mov.u32 %w, box;")
GIVEN_EARLY = RING + ONE + TO_BOTH + WAIT + GIVE_BACK + LOAD + _GIVEN + AGAIN + MEET
GIVEN = RING + ONE + TO_BOTH + WAIT + LOAD + GIVE_BACK + _GIVEN + AGAIN + MEET

UNORDERED_INIT = "an own mbarrier that is not made yet"  # or not at all, if another thread comes first

# name, the wrong program, the right one, the kind of finding, what its text has
PAIRS = [
    ("a read of what the other wrote", STORE + LOAD_THERE + MEET, STORE + MEET + LOAD_THERE + MEET, "race",
     "no barrier of the cluster between"),
    ("a write of what the other still reads", STORE + MEET + LOAD_THERE + STORE + MEET,
     STORE + MEET + LOAD_THERE + MEET + STORE + MEET, "race", "no barrier of the cluster between"),
    ("a write into the other block, read there", MEET + STORE_THERE + "bar.sync 0;" + LOAD + MEET,
     MEET + STORE_THERE + MEET + LOAD, "race",
     "fix: let the blocks meet between: barrier.cluster.arrive and .wait"),
    ("a barrier of the block alone", STORE + "bar.sync 0;" + LOAD_THERE + MEET, STORE + MEET + LOAD_THERE + MEET, "race",
     "no barrier of the cluster between"),
    ("a relaxed arrival", STORE + "barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + LOAD_THERE + MEET,
     STORE + "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" + LOAD_THERE + MEET, "race",
     "fix: write barrier.cluster.arrive (cute.arch.cluster_arrive) for `barrier.cluster.arrive.relaxed;`"),
    ("a relaxed arrival without a fence", STORE + "barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + LOAD_THERE + MEET,
     STORE + "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + LOAD_THERE + MEET, "race",
     ".relaxed orders no memory"),
    ("a store after the arrival", "barrier.cluster.arrive;" + STORE + "barrier.cluster.wait;" + LOAD_THERE + MEET,
     STORE + "barrier.cluster.arrive; barrier.cluster.wait;" + LOAD_THERE + MEET, "race", "reads smem+0x"),
    ("two writers of one word", MEET + STORE + STORE_THERE.replace("%t", "%v") + MEET,
     MEET + STORE + MEET + STORE_THERE.replace("%t", "%v") + MEET, "race", "writes smem+0x"),
    ("counting without atomics", ZERO + "ld.shared::cluster.u32 %w, [%p]; add.u32 %w, %w, 1; st.shared::cluster.u32 [%p], %w;"
     + "red.shared.add.u32 [%a], 1;" + MEET,
     ZERO + "red.shared::cluster.add.u32 [%p], 1; red.shared.add.u32 [%a], 1;" + MEET, "race", "of block ("),
    ("atomics of too narrow a scope", ZERO + "red.relaxed.cta.shared::cluster.add.u32 [%p], 1; red.relaxed.cta.shared.add.u32 [%a], 1;"
     + MEET, ZERO + "red.relaxed.cluster.shared::cluster.add.u32 [%p], 1; red.relaxed.cluster.shared.add.u32 [%a], 1;" + MEET,
     "race", "updates smem+0x"),
    ("vectors", STORE + VECTOR + MEET, STORE + MEET + VECTOR + MEET, "race", "smem+0x"),
    ("generic addresses", STORE + GENERIC + MEET, STORE + MEET + GENERIC + MEET, "race", "smem+0x"),
    ("nobody waits for the arrival", READY + STORE_THERE + ARRIVE + LOAD + MEET, READY + STORE_THERE + ARRIVE + WAIT + LOAD + MEET,
     "race", "smem+0x"),
    ("the arrival before the store", READY + ARRIVE + STORE_THERE + WAIT + LOAD + MEET,
     READY + STORE_THERE + ARRIVE + WAIT + LOAD + MEET, "race", "smem+0x"),
    ("a relaxed arrival at an mbarrier", READY + STORE_THERE + ARRIVE.replace("release", "relaxed") + WAIT + LOAD + MEET,
     READY + STORE_THERE + ARRIVE + WAIT + LOAD + MEET, "race",
     "fix: make the arrival `mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%m];` a release; .relaxed orders no memory"),
    ("an arrival for its own block at the mbarrier of another", READY + STORE_THERE + ARRIVE.replace(".cluster.sh", ".cta.sh")
     + WAIT + LOAD + MEET, READY + STORE_THERE + ARRIVE + WAIT + LOAD + MEET, "race",
     "fix: write `mbarrier.arrive.release.cluster.shared::cluster.b64` at "),
    ("an arrival without a scope at the mbarrier of another block",
     READY + STORE_THERE + ARRIVE.replace(".release.cluster", "") + WAIT + LOAD + MEET,
     READY + STORE_THERE + "fence.acq_rel.cluster;" + ARRIVE.replace(".release.cluster", "") + WAIT + LOAD + MEET, "race",
     "fix: write `mbarrier.arrive.release.cluster.shared::cluster.b64` at "),
    ("a fence for its own block before a relaxed arrival at another",
     READY + STORE_THERE + "fence.acq_rel.cta;" + ARRIVE.replace("release", "relaxed") + WAIT + LOAD + MEET,
     READY + STORE_THERE + "fence.acq_rel.cluster;" + ARRIVE.replace("release", "relaxed") + WAIT + LOAD + MEET, "race",
     "reads smem+0x"),
    ("a look whose answer nobody asks for",
     READY + STORE + "bar.sync 0;" + "mbarrier.arrive.shared.b64 _, [%b];" + WAIT + MEET.replace(";", "; ") + STORE
     + "mbarrier.arrive.shared.b64 _, [%b]; mbarrier.test_wait.parity.shared::cta.b64 %done, [%b], 1;"
     + "ld.shared.u32 %w, [box+128];" + MEET,
     READY + STORE + "bar.sync 0;" + "mbarrier.arrive.shared.b64 _, [%b];" + WAIT + MEET.replace(";", "; ") + STORE
     + "mbarrier.arrive.shared.b64 _, [%b];" + AGAIN + "ld.shared.u32 %w, [box+128];" + MEET, "race",
     "nothing depends on the answer of the wait|no barrier between"),
    ("a read that an arrival without a scope does not follow",
     READY + ARRIVE.replace(".release.cluster", "") + LOAD + WAIT + STORE_THERE + MEET,
     READY + LOAD + ARRIVE.replace(".release.cluster", "") + WAIT + STORE_THERE + MEET, "race", "writes smem+0x"),
    ("a fence for its own block before a relaxed arrival at the barrier of the cluster",
     STORE + "fence.acq_rel.cta; barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + LOAD_THERE + MEET,
     STORE + "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + LOAD_THERE + MEET, "race",
     "reads smem+0x"),
    ("a relaxed arrival at the own mbarrier",
     READY + STORE + "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%b];" + WAIT + "ld.shared.u32 %w, [box+128];" + MEET,
     READY + STORE + "mbarrier.arrive.release.cta.shared::cta.b64 _, [%b];" + WAIT + "ld.shared.u32 %w, [box+128];" + MEET, "race",
     "fix: make the arrival `mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%b];` a release"),
    ("an mbarrier that is not made yet", INIT + "bar.sync 0;" + ARRIVE + WAIT + MEET, READY + ARRIVE + WAIT + MEET,
     "mbarrier_not_visible", "fix: after mbarrier.init let its thread fence (fence.mbarrier_init.release.cluster"),
    ("an init without its fence", INIT + "barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + ARRIVE + WAIT + MEET,
     INIT + "@%first fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;" + ARRIVE + WAIT + MEET,
     "mbarrier_not_visible", "whose mbarrier.init it may not see yet"),
    ("a fence without a meeting", INIT + "@%first fence.mbarrier_init.release.cluster; bar.sync 0;" + ARRIVE + WAIT + MEET,
     READY + ARRIVE + WAIT + MEET, "mbarrier_not_visible", "arrives at the mbarrier at smem+0x100 of block ("),
    ("the last read is not waited for", STORE + MEET + LOAD_THERE, STORE + MEET + LOAD_THERE + MEET, "exited_block",
     "fix: let no block end before the others have made their last access"),
    ("the last write is not waited for", MEET + STORE_THERE, MEET + STORE_THERE + MEET, "exited_block", "smem+0x"),
    ("the last arrival is not waited for", READY + ARRIVE, READY + ARRIVE + WAIT, "exited_block", "smem+0x100 of block ("),
    ("the arrival comes before the last read", READY + STORE + MEET + ARRIVE + LOAD_THERE + WAIT,
     READY + STORE + MEET + LOAD_THERE + ARRIVE + WAIT, "exited_block", "smem+0x"),
    ("a flag that releases nothing", ZERO + FLAG.format(how="acquire", does="relaxed", acquire="") + MEET,
     ZERO + FLAG.format(how="acquire", does="release", acquire="") + MEET, "race", "smem+0x0"),
    ("a flag that acquires nothing", ZERO + FLAG.format(how="relaxed", does="release", acquire="") + MEET,
     ZERO + FLAG.format(how="acquire", does="release", acquire="") + MEET, "race", "smem+0x0"),
    ("a word that nobody wrote", MEET + LOAD_THERE + "st.global.u32 [%g], %w;" + MEET,
     STORE.replace("%t", "%v") + MEET + LOAD_THERE + "st.global.u32 [%g], %w;" + MEET, "undefined_read", "which nobody wrote"),
    ("a word that the other block wrote", MEET + LOAD + "st.global.u32 [%g], %w;" + MEET,
     MEET + STORE_THERE.replace("%t", "%v") + MEET + LOAD + "st.global.u32 [%g], %w;" + MEET, "undefined_read",
     "which nobody wrote"),
    ("a bulk copy into the other block", ONE + INTO + LOAD + MEET + WAIT + MEET, ONE + INTO + WAIT + LOAD + MEET, "race",
     "copies to smem+0x0 of block ("),
    ("a multicast of fewer bytes than expected", ONE + CAST.format(tx=512) + WAIT + MEET, ONE + CAST.format(tx=256) + WAIT + MEET,
     "deadlock", "256 bytes that were expected have not"),
    ("a multicast to a block that has exited", ONE + "@!%z exit;" + MEET + CAST.format(tx=256) + WAIT + MEET,
     ONE + CAST.format(tx=256) + WAIT + MEET, "exited_block", "fix: leave the block out of the multicast's mask, or let no block end"),
    ("a multicast that is read before its phase", ONE + TO_BOTH + MEET + LOAD + WAIT + MEET, ONE + TO_BOTH + WAIT + LOAD + MEET,
     "race", "smem+0x"),
    ("a multicast into what the other block reads", ONE + STORE + PROXY + MEET + LOAD + TO_BOTH + WAIT + MEET,
     ONE + STORE + PROXY + LOAD + MEET + TO_BOTH + WAIT + MEET, "race", "smem+0x"),
    ("a second multicast into a slot that is not given back", GIVEN_EARLY, GIVEN, "race", "smem+0x"),
    ("a store that comes by itself is not waited for", ONE + EXPECT + SEND + LOAD + WAIT + MEET, ONE + EXPECT + SEND + WAIT + LOAD + MEET,
     "race", "smem+0x"),
    ("a store that comes by itself into what is read", ONE + STORE + MEET + LOAD + EXPECT + SEND + WAIT + MEET,
     ONE + STORE + LOAD + MEET + EXPECT + SEND + WAIT + MEET, "race", "smem+0x"),
    ("a reduction that comes by itself is not waited for", ZERO + ONE + EXPECT + ADD + LOAD + WAIT + MEET,
     ZERO + ONE + EXPECT + ADD + WAIT + LOAD + MEET, "race", "smem+0x"),
    ("a copy between blocks is not waited for", ZERO + STORE + PROXY + ONE + EXPECT_HALF + PUSH + PUSHED + LOAD + WAIT + MEET,
     ZERO + STORE + PROXY + ONE + EXPECT_HALF + PUSH + PUSHED + WAIT + LOAD + MEET, "race", "smem+0x"),
    ("the source of a copy between blocks is written again", STORE + PROXY + ONE + EXPECT_HALF + PUSH + PUSHED + "bar.sync 0; @%first "
     + STORE + WAIT + MEET, STORE + PROXY + ONE + EXPECT_HALF + PUSH + PUSHED + WAIT + MEET + "@%first " + STORE, "race",
     "which the copy at PTX line"),
    ("a copy between blocks without a proxy fence", STORE + ONE + EXPECT_HALF + PUSH + WAIT + MEET,
     STORE + PROXY + ONE + EXPECT_HALF + PUSH + WAIT + MEET, "race", "no fence.proxy.async between"),
    ("a multicast to an mbarrier that is not made yet", ONE.replace(MEET, "bar.sync 0;") + TO_BOTH + WAIT + MEET,
     ONE + TO_BOTH + WAIT + MEET, "mbarrier_not_visible", "signals the mbarrier at smem+0x100 of block ("),
    ("a store to an mbarrier that is not made yet", ONE.replace(MEET, "bar.sync 0;") + EXPECT + SEND + WAIT + MEET,
     ONE + EXPECT + SEND + WAIT + MEET, "mbarrier_not_visible", "signals the mbarrier at smem+0x100 of block ("),
    (UNORDERED_INIT, INIT + ARRIVE.replace("[%m]", "[%b]") + WAIT + MEET,
     INIT + "bar.sync 0;" + ARRIVE.replace("[%m]", "[%b]") + WAIT + MEET, "mbarrier_not_visible",
     "put a barrier of the block (bar.sync, cute.arch.sync_threads) between mbarrier.init and the first use by another thread"),
    ("a block ends before its multicast has come", ONE + TO_BOTH + MEET, ONE + TO_BOTH + WAIT + MEET, "exited_block",
     "which ends before the copy has landed: no thread of it waits for that"),
    ("a block ends before a store has come", ONE + EXPECT + SEND + MEET, ONE + EXPECT + SEND + WAIT + MEET, "exited_block",
     "which ends before the copy has landed: no thread of it waits for that"),
]  # fmt: skip


def outcome(machine, body: str, seed: int, checks=("race", "undefined")) -> emulator.Fault | None:
    out, given = np.zeros(64, np.uint32), np.zeros(68, np.uint32)
    given = given[(-given.ctypes.data % 16) // 4 :][:64]
    try:
        machine.run(HEAD + body + "\nret;\n}\n", grid=4, block=64, cluster=(2, 1, 1), seed=seed, checks=checks, out=out,
                    given=given)  # fmt: skip
    except emulator.Fault as fault:
        return fault
    return None


def body_of(text: str) -> str:
    """One instruction a line, so that a report names one."""
    return text.replace("; ", ";\n").replace(";", ";\n")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name, wrong, right, kind, text", PAIRS, ids=[row[0] for row in PAIRS])
def test_the_wrong_one_of_a_pair_is_found(machine, name, wrong, right, kind, text, seed):
    fault = outcome(machine, body_of(wrong), seed)
    kinds = (kind, "mbarrier_not_initialized") if name == UNORDERED_INIT else (kind,)
    assert fault is not None and fault.kind in kinds, str(fault)
    assert any(each in str(fault) for each in text.split("|")), str(fault)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name, wrong, right, kind, text", PAIRS, ids=[row[0] for row in PAIRS])
def test_the_right_one_is_silent(machine, name, wrong, right, kind, text, seed):
    assert outcome(machine, body_of(right), seed) is None


def test_the_text_of_a_race(machine):
    body = body_of(STORE + "bar.sync 0;" + LOAD_THERE + MEET)
    assert (
        str(outcome(machine, body, 0))
        == """RACE
    writes smem+0x0, which a thread of another block read at PTX line 14: no barrier of the cluster between
    in `k`, 4 bytes of smem+0x0
    writes   thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 12: st.shared.u32 [%a], %t;
    read     thread (0, 0, 0) = warp 0, lane 0 of block (1, 0, 0): PTX line 14: ld.shared::cluster.u32 %w, [%p];
fix: let the blocks meet between: barrier.cluster.arrive and .wait (cute.arch.cluster_arrive and cluster_wait); or let \
the block that is done arrive at an mbarrier of the other (mapa, mbarrier.arrive.release.cluster), which waits for it; \
the barrier at PTX line 13 is one of a block"""
    )


def test_the_text_of_an_mbarrier_that_is_not_visible(machine):
    body = body_of(INIT + "bar.sync 0;" + ARRIVE + WAIT + MEET)
    assert (
        str(outcome(machine, body, 0))
        == """MBARRIER_NOT_VISIBLE
    arrives at the mbarrier at smem+0x100 of block (0, 0, 0), whose mbarrier.init it may not see yet
    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (1, 0, 0)
    PTX line 14: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%m];
fix: after mbarrier.init let its thread fence (fence.mbarrier_init.release.cluster, cute.arch.mbarrier_init_fence), \
then the blocks meet (barrier.cluster.arrive and .wait) before any arrives"""
    )


def test_the_text_of_an_exit_that_comes_too_early(machine):
    """Here the block happens to end after the access: nothing keeps it from ending before."""
    body = body_of(MEET + "@%z ld.shared::cluster.u32 %w, [%p];")
    assert (
        str(outcome(machine, body, 0, ("race",)))
        == """EXITED_BLOCK
    reads smem+0x0 of block (1, 0, 0), which may have exited: it does not wait for this
    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0)
    PTX line 15: @%z ld.shared::cluster.u32 %w, [%p];
fix: let no block end before the others have made their last access to its shared memory: barrier.cluster.arrive \
and .wait at the end of the kernel (cute.arch.cluster_arrive and cluster_wait)"""
    )
