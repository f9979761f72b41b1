"""Named barriers and barriers of the block: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

PAIRS = [
    Pair("two rings on the same ids", "barrier_collision", 4, "which of them go on is left open", """
          shr.u32 %r9, %w, 1; and.b32 %r8, %w, 1;
        - mov.u32 %r1, 1; mov.u32 %r2, 2;
        + shl.b32 %r1, %r9, 1; add.u32 %r1, %r1, 1; add.u32 %r2, %r1, 1;
          mov.u32 %i, 0; setp.eq.u32 %q, %r8, 0; @%q bra P;
          L: bar.sync %r1, 64;
          ld.shared.u32 %r5, [%mine+-128];
          bar.arrive %r2, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L; bra E;
          P: st.shared.u32 [%mine], %i;
          bar.arrive %r1, 64;
          bar.sync %r2, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra P;""", 128),
    Pair("empty barrier counts one consumer too few", "barrier_collision", 8, "which of them go on is left open", """
          mov.u32 %i, 0; @%warp0 bra P;
          L: bar.sync 1, 96;
          ld.shared.u32 %r5, [%s];
        - bar.arrive 2, 64;
        + bar.arrive 2, 96;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L; bra E;
          P: @%first st.shared.u32 [%s], %i;
          bar.arrive 1, 96;
        - bar.sync 2, 64;
        + bar.sync 2, 96;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra P;""", 96),
    Pair("both sides arrive, nobody syncs", "race", 1, "no barrier between", """
          st.shared.u32 [%mine], %t;
        - bar.arrive 1, 64;
        + bar.sync 1, 64;
          ld.shared.u32 %r1, [%next];"""),
    Pair("sync of consumer before producer's write", "race", 2, "no barrier between", """
          @%warp0 bra P;
          bar.sync 1, 64; ld.shared.u32 %r1, [%mine+-128]; bra E;
          P:
        - bar.arrive 1, 64;
          st.shared.u32 [%mine], %t;
        + bar.arrive 1, 64;"""),
    Pair("ring of two with barriers by stage, one back barrier", "barrier_collision", 4, "nothing makes it wait, and the barrier counts 64 threads, whoever they are", """
          mov.u32 %i, 0; @%warp0 bra P;
          L: and.b32 %r1, %i, 1; shl.b32 %r2, %r1, 9; add.u32 %r3, %mine, %r2; add.u32 %r1, %r1, 1; add.u32 %r4, %r1, 2;
          bar.sync %r1, 64; ld.shared.u32 %r5, [%r3+-128];
        - bar.arrive 3, 64;
        + bar.arrive %r4, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 6; @%p bra L; bra E;
          P: and.b32 %r1, %i, 1; shl.b32 %r2, %r1, 9; add.u32 %r3, %mine, %r2; add.u32 %r1, %r1, 1; add.u32 %r4, %r1, 2;
          setp.lt.u32 %p, %i, 2; @%p bra G;
        - bar.sync 3, 64;
        + bar.sync %r4, 64;
          G: st.shared.u32 [%r3], %i; bar.arrive %r1, 64;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 6; @%p bra P;"""),
    Pair("block barrier 0 used by a role as well", "illegal", 2, "it expects 64 threads, others wait at the same barrier with another count", """
          @%warp0 bra P;
        - bar.sync 0, 64;
        + bar.sync 1, 64;
          bar.sync 0; bra E;
          P: bar.sync 0;""", 96),
    Pair("a warp skips a round of the named barrier", "deadlock", 4, "no thread can continue in block (0, 0, 0) of `k`", """
          mov.u32 %i, 0;
          L:
        - setp.eq.u32 %p, %i, 1; and.pred %q, %p, %warp0; @%q bra S;
          bar.sync 1, 64;
          S: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    Pair("bar.sync in a loop with a trip count of the thread", "race", 3, "no barrier between", """
          mov.u32 %i, 0; add.u32 %r1, %w, 1;
        + mov.u32 %r1, 2;
          L: bar.sync 0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %r1; @%p bra L;
          st.shared.u32 [%mine], %t; bar.sync 0; ld.shared.u32 %r1, [%next];"""),
]  # fmt: skip
