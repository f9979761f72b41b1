"""Copies that run at the same time as the threads: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

INIT = (
    "@%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 1; "
    "@%first fence.mbarrier_init.release.cluster; bar.sync 0;"
)
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
PAIRS = [
    Pair("cp.async ring of three, wait_group off by one", "race", 3, "reads smem+0x4, which a copy that was not waited for writes", """
          cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group; cp.async.ca.shared.global [%mine+256], [%gt+256], 4; cp.async.commit_group; mov.u32 %i, 0;
        - L: cp.async.wait_group 2; bar.sync 0;
        + L: cp.async.wait_group 1; bar.sync 0;
          rem.u32 %r1, %i, 3; mad.lo.u32 %r2, %r1, 256, %next; ld.shared.u32 %r3, [%r2];
          add.u32 %r1, %i, 2; rem.u32 %r1, %r1, 3; mad.lo.u32 %r2, %r1, 256, %mine; cp.async.ca.shared.global [%r2], [%gt], 4; cp.async.commit_group;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 6; @%p bra L;"""),
    Pair("cp.async: barrier before the wait", "race", 3, "reads smem+0x4, which a copy that was not waited for writes", """
          cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group;
        - bar.sync 0; cp.async.wait_group 0;
        + cp.async.wait_group 0; bar.sync 0;
          ld.shared.u32 %r3, [%next];"""),
    Pair("cp.async prefetch into the slot that is read", "race", 3, "no barrier between", """
          mov.u32 %i, 0; cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group;
          L: cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r3, [%next];
        + bar.sync 0;
          cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    Pair("cp.async: the last groups of the tail are empty and not committed", "race", 4, "reads smem+0x104, which a copy that was not waited for writes", """
          mov.u32 %i, 0; cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group;
          L: and.b32 %r1, %i, 1; mad.lo.u32 %r4, %r1, 256, %next; xor.b32 %r1, %r1, 1; mad.lo.u32 %r5, %r1, 256, %mine; setp.lt.u32 %q, %i, 3;
        - @%q cp.async.ca.shared.global [%r5], [%gt], 4; @%q cp.async.commit_group;
        + @%q cp.async.ca.shared.global [%r5], [%gt], 4; cp.async.commit_group;
          cp.async.wait_group 1; bar.sync 0; ld.shared.u32 %r3, [%r4]; bar.sync 0;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    Pair("bulk store's source written before wait_group.read", "race", 2, "it was not waited for", f"""
          mov.u32 %i, 0;
          L: st.shared.u32 [%mine], %i; fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [smem], 256; @%first cp.async.bulk.commit_group;
        + @%first cp.async.bulk.wait_group.read 0;
          bar.sync 0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    Pair("bulk store waited for by another thread", "race", 2, "it was not waited for", f"""
          mov.u32 %i, 0; setp.eq.u32 %q, %t, 32;
          L: st.shared.u32 [%mine], %i; fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [smem], 256; @%first cp.async.bulk.commit_group;
        - @%q cp.async.bulk.wait_group.read 0;
        + @%first cp.async.bulk.wait_group.read 0;
          bar.sync 0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    Pair("bulk store waited for before it is committed", "race", 2, "it was not waited for", f"""
          mov.u32 %i, 0;
          L: st.shared.u32 [%mine], %i; fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [smem], 256;
        - @%first cp.async.bulk.wait_group.read 0; @%first cp.async.bulk.commit_group;
        + @%first cp.async.bulk.commit_group; @%first cp.async.bulk.wait_group.read 0;
          bar.sync 0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    Pair("two stores in flight of two buffers, wait_group.read 2", "race", 4, "it was not waited for", f"""
          mov.u32 %i, 0;
          L: and.b32 %r1, %i, 1; mad.lo.u32 %r2, %r1, 256, %mine; mad.lo.u32 %r3, %r1, 256, %s;
        - @%first cp.async.bulk.wait_group.read 2;
        + @%first cp.async.bulk.wait_group.read 1;
          bar.sync 0; st.shared.u32 [%r2], %i; fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [%r3], 256; @%first cp.async.bulk.commit_group;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    Pair("proxy fence after the barrier by the wrong thread", "race", 3, "no fence.proxy.async between", f"""
          st.shared.u32 [%mine], %t; bar.sync 0; setp.eq.u32 %q, %t, 32;
        - @%q fence.proxy.async.shared::cta;
        + @%first fence.proxy.async.shared::cta;
          @%first {STORE} [%g], [smem], 256; @%first cp.async.bulk.commit_group; @%first cp.async.bulk.wait_group 0;"""),
    Pair("a generic fence in the place of the fence of the proxy", "race", 3, "no fence.proxy.async between", f"""
          st.shared.u32 [%mine], %t;
        - membar.cta; bar.sync 0;
        + fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [smem], 256; @%first cp.async.bulk.commit_group; @%first cp.async.bulk.wait_group 0;"""),
    Pair("proxy fence of global memory for shared data", "race", 3, "no fence.proxy.async between", f"""
          st.shared.u32 [%mine], %t;
        - fence.proxy.async.global; bar.sync 0;
        + fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [smem], 256; @%first cp.async.bulk.commit_group; @%first cp.async.bulk.wait_group 0;"""),
    Pair("bulk store read back from global memory early", "race", 4, "nobody has waited for its writes", f"""
          st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta; bar.sync 0;
          @%first {STORE} [%g], [smem], 256; @%first cp.async.bulk.commit_group;
        - @%first cp.async.bulk.wait_group.read 0;
        + @%first cp.async.bulk.wait_group 0;
          bar.sync 0; ld.global.u32 %r1, [%gt];"""),
    Pair("bulk load of what a kernel wrote to global memory, no proxy fence", "race", 4, "no fence.proxy.async between", f"""
          {INIT}
          st.global.u32 [%gt], %t;
        - bar.sync 0;
        + fence.proxy.async; bar.sync 0;
          @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first {LOAD} [smem], [%g], 256, [full];
          A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%next];"""),
    Pair("tile loaded again while the block reads it", "race", 3, "the slot was not given back", f"""
          {INIT}
          mov.u32 %i, 0;
          L: @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first {LOAD} [smem], [%g], 256, [full];
          and.b32 %r1, %i, 1; A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %r1; @!%q bra A1; ld.shared.u32 %r2, [%next];
        + bar.sync 0;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    Pair("two loads on one mbarrier, one phase of each", "deadlock", 4, "no thread can continue in block (0, 0, 0) of `k`", f"""
          {INIT}
        - @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 128; @%first {LOAD} [smem], [%g], 128, [full];
        - @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 128; @%first {LOAD} [smem+128], [%g+128], 128, [full];
        + @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first {LOAD} [smem], [%g], 128, [full];
        + @%first {LOAD} [smem+128], [%g+128], 128, [full];
          A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r2, [%next];"""),
    Pair("TMA wait by one warp only", "race", 4, "this thread has not waited for it", f"""
          {INIT}
          @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first {LOAD} [smem], [%g], 256, [full];
        - @!%warp0 bra G;
          A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; G: ld.shared.u32 %r2, [%next];"""),
]  # fmt: skip
