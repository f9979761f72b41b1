"""Turns of roles at barriers, phases, groups and flags: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
INIT = (
    "@%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 1; "
    "@%first fence.mbarrier_init.release.cluster; bar.sync 0;"
)
PAIRS = [
    Pair("the turn is handed to oneself", "deadlock", 5, "for 32 more threads of the 64 that barrier 1 counts", """
          mov.u32 %i, 0; @%warp0 bra P;
          L: bar.sync 2, 64; @%lead ld.shared.u32 %r5, [%s]; @%lead st.shared.u32 [%s], %i;
        - bar.arrive 2, 64;
        + bar.arrive 1, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L; bra E;
          P: @%lead st.shared.u32 [%s], %i; bar.arrive 2, 64; bar.sync 1, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra P;"""),
    Pair("the last of three roles waits for the first", "race", 3, "no barrier between", """
          setp.eq.u32 %p, %w, 1; setp.eq.u32 %q, %w, 2; @%p bra M; @%q bra C;
          st.shared.u32 [%mine], %t; bar.arrive 1, 64; bra E;
          M: bar.sync 1, 64; ld.shared.u32 %r1, [%mine+-128]; st.shared.u32 [%mine+256], %r1; bar.arrive 2, 64; bra E;
        - C: bar.arrive 2, 64; ld.shared.u32 %r2, [%mine+128]; bra E;
        + C: bar.sync 2, 64; ld.shared.u32 %r2, [%mine+128]; bra E;""", 96),
    Pair("consumer waits at the barrier of the other stage", "race", 3, "no barrier between", """
          @%first mbarrier.init.shared.b64 [full], 32; @%first mbarrier.init.shared.b64 [other], 32; bar.sync 0;
          @%warp0 bra P;
        - A1: mbarrier.try_wait.parity.shared.b64 %q, [other], 0; @!%q bra A1; ld.shared.u32 %r1, [%mine+-128];
        + A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%mine+-128];
        - A2: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A2; ld.shared.u32 %r2, [%mine+128];
        + A2: mbarrier.try_wait.parity.shared.b64 %q, [other], 0; @!%q bra A2; ld.shared.u32 %r2, [%mine+128];
          bra E;
          P: st.shared.u32 [%mine+256], %t; mbarrier.arrive.shared.b64 _, [other];
          st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("parity of the round in place of the lap", "deadlock", 10, "no thread can continue in block (0, 0, 0) of `k`", """
          @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [other], 1; @%first mbarrier.init.shared.b64 [empty], 1; bar.sync 0;
          mov.u32 %i, 0; mov.u32 %r8, full; mov.u32 %r9, other; @%warp0 bra P;
          L: and.b32 %r1, %i, 1; setp.eq.u32 %p, %r1, 0; selp.u32 %r2, %r8, %r9, %p;
        - mov.u32 %d, %r1;
        + shr.u32 %d, %i, 1; and.b32 %d, %d, 1;
          A1: mbarrier.try_wait.parity.shared.b64 %q, [%r2], %d; @!%q bra A1;
          ld.shared.u32 %r5, [%s]; bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %r7, 1;
          PL: and.b32 %r1, %i, 1; setp.eq.u32 %p, %r1, 0; selp.u32 %r2, %r8, %r9, %p;
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %r7; @!%q bra A2; xor.b32 %r7, %r7, 1;
          st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [%r2];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;"""),
    Pair("slot given back between two reads", "race", 9, "no barrier of the warp before its arrival", f"""
          {INIT} mov.u32 %i, 0; mov.u32 %d, 0; @%warp0 bra P;
          L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1; xor.b32 %d, %d, 1;
          ld.shared.u32 %r5, [%s]; bar.warp.sync -1;
        - @%lead mbarrier.arrive.shared.b64 _, [empty];
          ld.shared.u32 %r6, [%s+4];
        + bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %d, 1; PL:
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2; xor.b32 %d, %d, 1;
          st.shared.u32 [%s], %i; st.shared.u32 [%s+4], %i; mbarrier.arrive.shared.b64 _, [full];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;"""),
    Pair("cp.async arrivals that the phase waits for besides", "deadlock", 4, "0 of 32 arrivals have come", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @!%warp0 bra C;
          cp.async.ca.shared.global [%mine], [%gt], 4;
        - cp.async.mbarrier.arrive.shared.b64 [full]; bra E;
        + cp.async.mbarrier.arrive.noinc.shared.b64 [full]; bra E;
          C: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%mine+-128];"""),
    Pair("a normal arrival before the copies have landed", "race", 4, "which a copy that was not waited for writes", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @!%warp0 bra C;
          cp.async.ca.shared.global [%mine], [%gt], 4;
        - mbarrier.arrive.shared.b64 _, [full]; bra E;
        + cp.async.mbarrier.arrive.noinc.shared.b64 [full]; bra E;
          C: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%mine+-128];"""),
    Pair("two stages in one group", "race", 4, "write cp.async.wait_group 0 at line 4", """
          cp.async.ca.shared.global [%mine], [%gt], 4;
        + cp.async.commit_group;
          cp.async.ca.shared.global [%mine+1024], [%gt+1024], 4;
          cp.async.commit_group;
          cp.async.wait_group 1; bar.sync 0; ld.shared.u32 %r1, [%next];
          cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r1, [%next+1024];"""),
    Pair("the wait for copies by one warp", "race", 3, "which a copy that was not waited for writes", """
          cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group;
        - @%warp0 cp.async.wait_group 0;
        + cp.async.wait_group 0;
          bar.sync 0; ld.shared.u32 %r1, [%next];"""),
    Pair("relaxed arrival of the cluster", "race", 3, ".relaxed orders no memory", """
          st.shared.u32 [%mine], %t; xor.b32 %r1, %b, 1; mapa.shared::cluster.u32 %r2, %mine, %r1;
        - barrier.cluster.arrive.relaxed; barrier.cluster.wait;
        + barrier.cluster.arrive.release; barrier.cluster.wait;
          ld.shared::cluster.u32 %r3, [%r2]; barrier.cluster.arrive; barrier.cluster.wait;""", 64, 2, 2),
    Pair("only one warp waits for the cluster", "race", 1, "no barrier of the cluster between", """
          st.shared.u32 [%mine], %t; xor.b32 %r1, %b, 1; mapa.shared::cluster.u32 %r2, %mine, %r1;
          barrier.cluster.arrive;
        - @%warp0 barrier.cluster.wait;
        + barrier.cluster.wait;
          ld.shared::cluster.u32 %r3, [%r2];
        - @!%warp0 barrier.cluster.wait;
          barrier.cluster.arrive; barrier.cluster.wait;""", 64, 2, 2),
    Pair("mbarrier of a peer after a relaxed barrier without its fence", "mbarrier_not_visible", 4, "whose mbarrier.init it may not see yet", """
          @%first mbarrier.init.shared.b64 [full], 1;
        + @%first fence.mbarrier_init.release.cluster;
          barrier.cluster.arrive.relaxed; barrier.cluster.wait;
          xor.b32 %r1, %b, 1; mov.u32 %r2, full; mapa.shared::cluster.u32 %r3, %r2, %r1;
          @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %q, [full], 0; @!%q bra A1;
          barrier.cluster.arrive; barrier.cluster.wait;""", 64, 2, 2),
    Pair("a flag set again before it was taken back", "race", 5, "1 is written more than once: let its writers wait until line 4 has seen it", """
          mov.u32 %i, 0; setp.eq.u32 %p, %b, 1; @%p bra C;
          L: st.global.u32 [%g+64], %i; st.release.gpu.global.u32 [%g], 1;
        - add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L; bra E;
        + W: ld.acquire.gpu.global.u32 %r1, [%g]; setp.ne.u32 %q, %r1, 0; @%q bra W; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L; bra E;
          C: ld.acquire.gpu.global.u32 %r1, [%g]; setp.eq.u32 %q, %r1, 0; @%q bra C;
          ld.global.u32 %r2, [%g+64]; st.release.gpu.global.u32 [%g], 0;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra C;""", 1, 2),
    Pair("ready before the second word", "race", 7, "nothing orders blocks", """
          setp.eq.u32 %p, %b, 1; @%p bra C;
          st.global.u32 [%g+64], 1;
        - st.release.gpu.global.u32 [%g], 1;
          st.global.u32 [%g+68], 1;
        + st.release.gpu.global.u32 [%g], 1;
          bra E;
          C: ld.acquire.gpu.global.u32 %r1, [%g]; setp.eq.u32 %q, %r1, 0; @%q bra C;
          ld.global.u32 %r2, [%g+64]; ld.global.u32 %r3, [%g+68];""", 1, 2),
    Pair("a load into the slot that a store still reads", "race", 3, "it was not waited for", f"""
          {INIT} st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta; bar.sync 0;
          @!%first bra W; {STORE} [%g+1024], [smem], 256; cp.async.bulk.commit_group;
        + cp.async.bulk.wait_group.read 0;
          mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; {LOAD} [smem], [%g], 256, [full];
          W: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%mine];"""),
    Pair("a flag after the read of a store's source", "race", 6, "`.read` waits for its reads alone", f"""
          setp.eq.u32 %p, %b, 1; @%p bra C;
          st.shared.u32 [%mine], %t; fence.proxy.async; bar.sync 0; @!%first bra E;
          {STORE} [%g+1024], [smem], 256; cp.async.bulk.commit_group;
        - cp.async.bulk.wait_group.read 0;
        + cp.async.bulk.wait_group 0;
          st.release.gpu.global.u32 [%g], 1; bra E;
          C: ld.acquire.gpu.global.u32 %r1, [%g]; setp.eq.u32 %q, %r1, 0; @%q bra C; ld.global.u32 %r2, [%gt+1024];""", 64, 2),
    Pair("two producers, one arrival counted", "deadlock", 4, "2 arrivals have come, and it counts 1,", f"""
        - @%first mbarrier.init.shared.b64 [full], 1;
        + @%first mbarrier.init.shared.b64 [full], 2;
          bar.sync 0; setp.eq.u32 %p, %w, 2; @%p bra C; @!%lead bra E; shl.b32 %r1, %w, 8; add.u32 %r2, %s, %r1;
          mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; {LOAD} [%r2], [%g], 256, [full]; bra E;
          C: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%s]; ld.shared.u32 %r2, [%s+256];""", 96),
    Pair("a consumer without work gives nothing back", "deadlock", 9, "0 of 2 arrivals have come", """
          @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 2; bar.sync 0;
          mov.u32 %i, 0; mov.u32 %d, 0; @%warp0 bra P;
          L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1; xor.b32 %d, %d, 1;
          ld.shared.u32 %r5, [%s]; setp.gt.u32 %p, %w, %r5;
        - @%p bra N;
          bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
          N: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %d, 1; PL:
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2; xor.b32 %d, %d, 1;
          st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [full];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;""", 96),
    Pair("a barrier of the next phase by a thread that has ended one", "race", 2, "no barrier between", """
          @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0;
          st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 %d1, [full];
        + A1: mbarrier.try_wait.shared.b64 %q, [full], %d1; @!%q bra A1;
          ld.shared.u32 %r1, [%next]; mbarrier.arrive.shared.b64 %d2, [full];
          A2: mbarrier.try_wait.shared.b64 %q, [full], %d2; @!%q bra A2; st.shared.u32 [%mine], %n;"""),
]  # fmt: skip
