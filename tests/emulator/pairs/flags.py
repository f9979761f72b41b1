"""Flags, locks and counters in memory: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

PAIRS = [
    Pair("fence before the data", "race", 3, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
        - fence.acq_rel.gpu; st.global.u32 [%gt], 7; bar.sync 0; @%first st.relaxed.gpu.global.u32 [%g+4096], 1; bra E;
        + st.global.u32 [%gt], 7; bar.sync 0; @%first fence.acq_rel.gpu; @%first st.relaxed.gpu.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("volatile taken for acquire", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7; membar.gl; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S;
        + membar.gl;
          D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("fence.cta between blocks", "race", 6, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7; bar.sync 0;
        - @%first membar.cta;
        + @%first membar.gl;
          @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; membar.gl;
          D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("atomicExch as a flag without a fence", "race", 5, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7; bar.sync 0;
        + @%first membar.gl;
          @%first atom.global.exch.b32 %r1, [%g+4096], 1; bra E;
          C: @!%first bra D; S: atom.global.or.b32 %r1, [%g+4096], 0; setp.eq.u32 %p, %r1, 0; @%p bra S; membar.gl;
          D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("the flag is set by each warp, one sets it early", "race", 5, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7;
        - bar.warp.sync -1;
        + bar.sync 0;
          @%first st.release.gpu.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("semaphore without the barrier after the wait", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7; bar.sync 0; @%first red.release.gpu.global.add.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; D:
        + bar.sync 0;
          ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("grid barrier counts one block too few", "race", 1, "nothing orders blocks", """
          mul.lo.u32 %r1, %b, 4; cvt.u64.u32 %d1, %r1; add.u64 %d1, %g, %d1; @%first st.global.u32 [%d1], 5;
          bar.sync 0; @!%first bra D; atom.acq_rel.gpu.global.add.u32 %r2, [%g+4096], 1;
        - S: ld.acquire.gpu.global.u32 %r2, [%g+4096]; setp.lt.u32 %p, %r2, 2; @%p bra S;
        + S: ld.acquire.gpu.global.u32 %r2, [%g+4096]; setp.lt.u32 %p, %r2, 3; @%p bra S;
          D: bar.sync 0; ld.global.u32 %r3, [%g]; ld.global.u32 %r3, [%g+4]; ld.global.u32 %r3, [%g+8];""", 32, 3),
    Pair("a counter of arrivals in the block, one too few", "race", 4, "the load at line 3 may give 2, and the thread goes on", """
          @%first st.shared.u32 [%s+4096], 0; bar.sync 0;
          setp.eq.u32 %q, %w, 3; @%q bra C; st.shared.u32 [%mine], %t; bar.warp.sync -1; @%lead red.release.cta.shared.add.u32 [%s+4096], 1; bra E;
        - C: ld.acquire.cta.shared.u32 %r2, [%s+4096]; setp.lt.u32 %p, %r2, 2; @%p bra C;
        + C: ld.acquire.cta.shared.u32 %r2, [%s+4096]; setp.lt.u32 %p, %r2, 3; @%p bra C;
          ld.shared.u32 %r3, [%mine+-128]; ld.shared.u32 %r4, [%mine+-256]; ld.shared.u32 %r5, [%mine+-384];""", 128),
    Pair("grid barrier without a fence", "race", 5, "nothing orders blocks", """
          mul.lo.u32 %r1, %b, 4; cvt.u64.u32 %d1, %r1; add.u64 %d1, %g, %d1; @%first st.global.u32 [%d1], 5;
          bar.sync 0; @!%first bra D;
        - atom.global.add.u32 %r2, [%g+4096], 1;
        + membar.gl; atom.global.add.u32 %r2, [%g+4096], 1;
          S: ld.volatile.global.u32 %r2, [%g+4096]; setp.lt.u32 %p, %r2, 3; @%p bra S; membar.gl;
          D: bar.sync 0; ld.global.u32 %r3, [%g]; ld.global.u32 %r3, [%g+4]; ld.global.u32 %r3, [%g+8];""", 32, 3),
    Pair("grid barrier used twice, count not raised", "race", 2, "no barrier between", """
          mov.u32 %i, 1; mul.lo.u32 %r1, %b, 4; cvt.u64.u32 %d1, %r1; add.u64 %d1, %g, %d1;
          L: @%first st.global.u32 [%d1], %i;
          bar.sync 0; @!%first bra D; atom.acq_rel.gpu.global.add.u32 %r2, [%g+4096], 1;
        - mov.u32 %r4, 3;
        + mul.lo.u32 %r4, %i, 3;
          S: ld.acquire.gpu.global.u32 %r2, [%g+4096]; setp.lt.u32 %p, %r2, %r4; @%p bra S;
          D: bar.sync 0; ld.global.u32 %r3, [%g]; ld.global.u32 %r3, [%g+4]; ld.global.u32 %r3, [%g+8];
        + bar.sync 0; @!%first bra D2; atom.acq_rel.gpu.global.add.u32 %r2, [%g+4100], 1;
        + S2: ld.acquire.gpu.global.u32 %r2, [%g+4100]; setp.lt.u32 %p, %r2, %r4; @%p bra S2; D2: bar.sync 0;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;""", 32, 3),
    Pair("lock taken with a relaxed exchange", "race", 3, "nothing orders blocks", """
          @!%first bra E;
        - S: atom.relaxed.gpu.global.exch.b32 %r1, [%g+4096], 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
        + S: atom.acquire.gpu.global.exch.b32 %r1, [%g+4096], 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
          ld.global.u32 %r2, [%g]; add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2;
          st.release.gpu.global.u32 [%g+4096], 0;""", 32, 3),
    Pair("lock given back by a plain store", "race", 2, "nothing orders blocks", """
          @!%first bra E;
          S: atom.acquire.gpu.global.exch.b32 %r1, [%g+4096], 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
          ld.global.u32 %r2, [%g]; add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2;
        - st.global.u32 [%g+4096], 0;
        + st.release.gpu.global.u32 [%g+4096], 0;""", 32, 3),
    Pair("lock given back by a volatile store", "race", 3, "nothing orders blocks", """
          @!%first bra E;
          S: atom.acquire.gpu.global.cas.b32 %r1, [%g+4096], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
          ld.global.u32 %r2, [%g]; add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2;
        - st.volatile.global.u32 [%g+4096], 0;
        + membar.gl; st.volatile.global.u32 [%g+4096], 0;""", 32, 3),
    Pair("lock of the block's scope between blocks", "race", 2, "nothing orders blocks", """
          @!%first bra E;
        - S: atom.acquire.cta.global.cas.b32 %r1, [%g+4096], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
        + S: atom.acquire.gpu.global.cas.b32 %r1, [%g+4096], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
          ld.global.u32 %r2, [%g]; add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2;
          st.release.gpu.global.u32 [%g+4096], 0;""", 32, 3),
    Pair("ticket lock, now-serving read relaxed", "race", 4, "no barrier between", """
          @!%lead bra E;
          atom.relaxed.gpu.global.add.u32 %r1, [%g+4096], 1;
        - S: ld.relaxed.gpu.global.u32 %r2, [%g+4100]; setp.ne.u32 %p, %r2, %r1; @%p bra S;
        + S: ld.acquire.gpu.global.u32 %r2, [%g+4100]; setp.ne.u32 %p, %r2, %r1; @%p bra S;
          ld.global.u32 %r3, [%g]; add.u32 %r3, %r3, 1; st.global.u32 [%g], %r3;
          add.u32 %r1, %r1, 1; st.release.gpu.global.u32 [%g+4100], %r1;""", 64, 2),
    Pair("double-checked init", "race", 7, "nothing orders blocks", """
          @!%first bra E;
        - ld.relaxed.gpu.global.u32 %r1, [%g+4100]; setp.eq.u32 %p, %r1, 1; @%p bra U;
        + ld.acquire.gpu.global.u32 %r1, [%g+4100]; setp.eq.u32 %p, %r1, 1; @%p bra U;
          S: atom.acquire.gpu.global.cas.b32 %r1, [%g+4096], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra S;
          ld.relaxed.gpu.global.u32 %r1, [%g+4100]; setp.eq.u32 %p, %r1, 1; @%p bra V;
          st.global.u32 [%g], 77; st.release.gpu.global.u32 [%g+4100], 1;
          V: st.release.gpu.global.u32 [%g+4096], 0;
          U: ld.global.u32 %r3, [%g];""", 32, 4),
    Pair("last block: no fence by the others, only thread 0 fences before the barrier", "race", 6, "nothing orders blocks", """
          mad.lo.u32 %r1, %b, %n, %t; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %g, %d1;
          st.global.u32 [%d1], %t;
        - @%first membar.gl; bar.sync 0;
        + bar.sync 0; @%first membar.gl;
          @!%first bra D; atom.global.add.u32 %r2, [%g+4096], 1; membar.gl; setp.eq.u32 %p, %r2, 1; selp.u32 %r3, 1, 0, %p; st.shared.u32 [%s], %r3; D: bar.sync 0;
          ld.shared.u32 %r3, [%s]; setp.eq.u32 %p, %r3, 0; @%p bra E;
          ld.global.u32 %r4, [%gn]; ld.global.u32 %r5, [%gn+256];""", 64, 2),
    Pair("last block: the answer in shared memory without a barrier", "race", 4, "no barrier between", """
          mad.lo.u32 %r1, %b, %n, %t; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %g, %d1;
          st.global.u32 [%d1], %t; membar.gl; bar.sync 0;
          @!%first bra D; atom.global.add.u32 %r2, [%g+4096], 1; membar.gl; setp.eq.u32 %p, %r2, 1; selp.u32 %r3, 1, 0, %p; st.shared.u32 [%s], %r3; D:
        + bar.sync 0;
          ld.shared.u32 %r3, [%s]; setp.eq.u32 %p, %r3, 0; @%p bra E;
        - ld.global.u32 %r4, [%gn];
        + membar.gl; ld.global.u32 %r4, [%gn];""", 64, 2),
    Pair("decoupled look-back: status and value apart", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          @!%first bra E; st.relaxed.gpu.global.u32 [%g], 42;
        - st.global.u32 [%g+8], 43; st.relaxed.gpu.global.u32 [%g+4], 1; bra E;
        + st.global.u32 [%g+8], 43; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%g+4], 1; bra E;
          C: @!%first bra E; S: ld.relaxed.gpu.global.u32 %r1, [%g+4]; setp.eq.u32 %p, %r1, 0; @%p bra S; fence.acq_rel.gpu; ld.global.u32 %r2, [%g+8];""", 32, 2),
    Pair("nanosleep in place of a flag", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7;
        + bar.sync 0; @%first st.release.gpu.global.u32 [%g+4096], 1;
          bra E;
        - C: nanosleep.u32 1000000; ld.global.u32 %r2, [%gn];
        + C: S: ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; ld.global.u32 %r2, [%gn];""", 32, 2),
    Pair("a flag looked at once", "race", 3, "the load at this line may give 0, and the thread goes on", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          @!%first bra E; st.global.u32 [%g], 7; st.release.gpu.global.u32 [%g+4096], 1; bra E;
        - C: @!%first bra E; ld.acquire.gpu.global.u32 %r1, [%g+4096]; ld.global.u32 %r2, [%g];
        + C: @!%first bra E; ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra E; ld.global.u32 %r2, [%g];""", 32, 2),
    Pair("a flag polled a few times", "race", 5, "the load at line 3 may give 0, and the thread goes on", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          @!%first bra E; st.global.u32 [%g], 7; st.release.gpu.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra E; mov.u32 %i, 0; S: ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.ne.u32 %p, %r1, 0; @%p bra D;
        - add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 100; @%p bra S;
        + bra S;
          D: ld.global.u32 %r2, [%g];""", 32, 2),
    Pair("a flag that counts down, waited for with the wrong value", "race", 3, "the load at line 2 may give 1, and the thread goes on", """
          @%warp0 bra P; st.shared.u32 [%mine], %t; bar.warp.sync -1; @%lead red.release.cta.global.add.u32 [%g+4096], 1; bra E;
        - P: ld.acquire.cta.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra P;
        + P: ld.acquire.cta.global.u32 %r1, [%g+4096]; setp.ne.u32 %p, %r1, 2; @%p bra P;
          ld.shared.u32 %r2, [%mine+128]; ld.shared.u32 %r3, [%mine+256];""", 96),
    Pair("stream-k fix-up without the barrier", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], %t;
        - membar.gl; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
        + membar.gl; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; D: membar.gl; bar.sync 0; membar.gl; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("the counter of work is read plainly", "race", 1, "nothing orders blocks", """
          @!%first bra E; atom.global.add.u32 %r1, [%g+4096], 1;
        - ld.global.u32 %r2, [%g+4096];
        + ld.relaxed.gpu.global.u32 %r2, [%g+4096];""", 32, 2),
    Pair("acq_rel fences of all for one flag", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
        - st.global.u32 [%gt], 7; fence.acq_rel.gpu; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
        + st.global.u32 [%gt], 7; fence.sc.gpu; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; fence.sc.gpu;
          D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("fences of all of the block's scope for one flag", "race", 4, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
        - st.global.u32 [%gt], 7; fence.sc.cta; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
        + st.global.u32 [%gt], 7; fence.sc.gpu; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S; fence.sc.gpu;
          D: bar.sync 0; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("fences of all, and no barrier before the flag", "race", 5, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7; fence.sc.gpu;
        + bar.sync 0;
          @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S;
          D: bar.sync 0; fence.sc.gpu; ld.global.u32 %r2, [%gn];""", 64, 2),
    Pair("the wait before the barrier, the fence after it left out", "race", 5, "nothing orders blocks", """
          setp.ne.u32 %q, %b, 0; @%q bra C;
          st.global.u32 [%gt], 7; fence.sc.gpu; bar.sync 0; @%first st.volatile.global.u32 [%g+4096], 1; bra E;
          C: @!%first bra D; S: ld.volatile.global.u32 %r1, [%g+4096]; setp.eq.u32 %p, %r1, 0; @%p bra S;
          D: bar.sync 0;
        + fence.sc.gpu;
          ld.global.u32 %r2, [%gn];""", 64, 2),
]  # fmt: skip
