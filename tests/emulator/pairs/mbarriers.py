"""mbarriers: phases, counts, parities, waits and lives: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

INIT = (
    "@%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 1; "
    "@%first fence.mbarrier_init.release.cluster; bar.sync 0;"
)
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
PAIRS = [
    Pair("parity never flips", "deadlock", 7, "no thread can continue in block (0, 0, 0) of `k`", f"""
          {INIT}
          mov.u32 %i, 0; mov.u32 %d, 0; @%warp0 bra P;
          L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1;
          ld.shared.u32 %r5, [%s]; bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
        + xor.b32 %d, %d, 1;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %d, 1; PL:
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2; xor.b32 %d, %d, 1;
          st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [full];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;"""),
    Pair("producer's parity never flips", "deadlock", 8, "no thread can continue in block (0, 0, 0) of `k`", f"""
          {INIT}
          mov.u32 %i, 0; mov.u32 %d, 0; @%warp0 bra P;
          L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1;
          ld.shared.u32 %r5, [%s]; bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
          xor.b32 %d, %d, 1;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %d, 1; PL:
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2;
        + xor.b32 %d, %d, 1;
          st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [full];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;"""),
    Pair("consumer gives the slot back before the read", "race", 9, "no barrier of the warp before its arrival", f"""
          {INIT}
          mov.u32 %i, 0; mov.u32 %d, 0; @%warp0 bra P;
          L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1; xor.b32 %d, %d, 1;
        - @%lead mbarrier.arrive.shared.b64 _, [empty];
          ld.shared.u32 %r5, [%s];
        + bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %d, 1; PL:
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2; xor.b32 %d, %d, 1;
          st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [full];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;"""),
    Pair("two consumer warps, empty counts one", "deadlock", 10, "no thread can continue in block (0, 0, 0) of `k`", """
          @%first mbarrier.init.shared.b64 [full], 1;
        - @%first mbarrier.init.shared.b64 [empty], 1;
        + @%first mbarrier.init.shared.b64 [empty], 2;
          bar.sync 0;
          mov.u32 %i, 0; mov.u32 %d, 0; @%warp0 bra P;
          L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1; xor.b32 %d, %d, 1;
          ld.shared.u32 %r5, [%s];
          bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
          P: @!%lead bra E; mov.u32 %d, 1; PL:
          A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2; xor.b32 %d, %d, 1;
          st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [full];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;""", 96),
    Pair("all lanes arrive, one counted", "deadlock", 3, "no thread can continue in block (0, 0, 0) of `k`", """
          @%first mbarrier.init.shared.b64 [full], 1; bar.sync 0;
          @%warp0 bra P;
          A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t;
        - mbarrier.arrive.shared.b64 _, [full];
        + bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("a wait tried once and then read", "race", 3, "nothing depends on the answer of the wait at line 2", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @%warp0 bra P;
        - mbarrier.try_wait.parity.shared.b64 %q, [full], 0;
        + A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("a wait tried a few times and then read", "race", 4, "the wait at line 2 may give false, and the thread goes on", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @%warp0 bra P; mov.u32 %i, 0;
          A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8;
        + setp.lt.u32 %p, %i, 999999999;
          not.pred %q, %q; and.pred %p, %p, %q; @%p bra A1;
        + @%q trap;
          ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("a second try in place of a loop", "race", 3, "nothing depends on the answer of the wait at line 2", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @%warp0 bra P;
        - mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @%q bra G; mbarrier.try_wait.parity.shared.b64 %q, [full], 0; G:
        + A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("the answer of a try is kept for a value only", "race", 3, "the wait at line 2 may give false, and the thread goes on", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @%warp0 bra P;
        - mbarrier.test_wait.parity.shared.b64 %q, [full], 0; selp.u32 %r7, 1, 0, %q; st.global.u32 [%gt], %r7;
        + A1: mbarrier.test_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("a peek whose false answer goes on too", "race", 4, "the wait at line 2 may give false, and the thread goes on", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @%warp0 bra P;
          mbarrier.try_wait.parity.shared.b64 %q, [full], 0;
        - @%q bra G; nanosleep.u32 100; G:
        + @%q bra G; A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; G:
          ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("lane 0 waits for all, no barrier of the warp", "race", 3, "no barrier of the warp after the wait for it", """
          @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0; @%warp0 bra P;
          @!%lead bra G; A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1; G:
        + bar.warp.sync -1;
          ld.shared.u32 %r5, [%mine+-128]; bra E;
          P: st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full];"""),
    Pair("expect after the arrival", "race", 6, "nobody has waited for it", f"""
          {INIT}
          @!%warp0 bra C; @!%lead bra E;
        - mbarrier.arrive.shared.b64 _, [full]; mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 128;
        + mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
          {LOAD} [smem], [%g], 128, [full]; bra E;
          C: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          ld.shared.u32 %r5, [%mine+-128];"""),
    Pair("expect of one copy of two", "race", 6, "nobody has waited for it", f"""
          {INIT}
          @!%warp0 bra C; @!%lead bra E;
        - mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
        + mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
          {LOAD} [smem], [%g], 128, [full]; {LOAD} [smem+128], [%g+128], 128, [full]; bra E;
          C: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          ld.shared.u32 %r5, [%mine+-128]; ld.shared.u32 %r6, [%mine];
          add.u32 %r5, %r5, %r6;"""),
    Pair("second copy's bytes are expected after an arrival", "mbarrier_lapped", 5, "once the copy of", f"""
          {INIT}
          @!%warp0 bra C; @!%lead bra E;
        - mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
        + mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 128;
          {LOAD} [smem], [%g], 128, [full];
        - mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 128;
        + mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
          {LOAD} [smem+128], [%g+128], 128, [full]; bra E;
          C: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          ld.shared.u32 %r5, [%mine+-128]; ld.shared.u32 %r6, [%mine];
          add.u32 %r5, %r5, %r6;"""),
    Pair("mbarrier made again for a second use", "mbarrier_in_use", 3, "initializes the mbarrier at smem+0x4000 again, which line 1 has initialized", """
          @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0;
          st.shared.u32 [%mine], %t; mbarrier.arrive.shared.b64 _, [full]; A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
        - @%first mbarrier.init.shared.b64 [full], 64;
        + bar.sync 0; @%first mbarrier.inval.shared.b64 [full]; @%first mbarrier.init.shared.b64 [full], 64;
          bar.sync 0; mbarrier.arrive.shared.b64 _, [full]; A2: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A2;"""),
    Pair("mbarrier's memory used as data", "mbarrier_in_use", 4, "writes over the mbarrier at smem+0x4000, which line 1 has initialized", """
          @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0;
          mbarrier.arrive.shared.b64 _, [full]; A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          bar.sync 0;
        + @%first mbarrier.inval.shared.b64 [full];
          @%first st.shared.u32 [full], 5;"""),
    Pair("init seen by one warp only", "mbarrier_not_visible", 3, "arrives at the mbarrier at smem+0x4000, whose mbarrier.init it may not see yet", """
          @%first mbarrier.init.shared.b64 [full], 64;
        - bar.warp.sync -1;
        + bar.sync 0;
          mbarrier.arrive.shared.b64 _, [full];
          A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;"""),
    Pair("a token of an earlier phase is waited for", "race", 3, "no barrier between", """
          @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0;
          mbarrier.arrive.shared.b64 %d1, [full]; A1: mbarrier.try_wait.shared.b64 %q, [full], %d1; @!%q bra A1;
          st.shared.u32 [%mine], %t;
        - mbarrier.arrive.shared.b64 %d2, [full]; A2: mbarrier.try_wait.shared.b64 %q, [full], %d1; @!%q bra A2;
        + mbarrier.arrive.shared.b64 %d2, [full]; A2: mbarrier.try_wait.shared.b64 %q, [full], %d2; @!%q bra A2;
          ld.shared.u32 %r5, [%next];"""),
    Pair("two rounds without a wait between", "mbarrier_lapped", 3, "in another order that wait misses its phase, and ends later or never", """
          @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0;
          mbarrier.arrive.shared.b64 _, [full];
        + A1: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra A1;
          mbarrier.arrive.shared.b64 _, [full];
          A2: mbarrier.try_wait.parity.shared.b64 %q, [full], 1; @!%q bra A2;"""),
    Pair("the last phase but one is waited for", "barrier_collision", 7, "which of them go on is left open", """
          @%first mbarrier.init.shared.b64 [full], 1; bar.sync 0; @%warp0 bra P;
          mov.u32 %i, 0; L: A1: and.b32 %r1, %i, 1; mbarrier.try_wait.parity.shared.b64 %q, [full], %r1; @!%q bra A1;
          bar.arrive 1, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;
          ld.shared.u32 %r5, [%s]; bra E;
          P: mov.u32 %i, 0; Q: @%lead st.shared.u32 [%s], %i; bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [full];
        - bar.arrive 2, 64;
        + bar.sync 1, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra Q;"""),
]  # fmt: skip
