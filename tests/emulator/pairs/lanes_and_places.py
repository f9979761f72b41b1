"""Lanes of a warp, scratch memory, and places that nobody may read or write: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

PAIRS = [
    Pair("tile index of the next round overwrites the last", "race", 3, "no barrier between", """
          mov.u32 %i, 0;
          L: @!%first bra D; atom.global.add.u32 %r1, [%g+4096], 1; st.shared.u32 [%s], %r1; D:
          bar.sync 0; ld.shared.u32 %r2, [%s];
        + bar.sync 0;
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    Pair("reduction scratch used twice", "race", 2, "no barrier between", """
          mov.u32 %i, 0;
          L: @%lead st.shared.u32 [%mine], %t; bar.sync 0; ld.shared.u32 %r1, [%s]; ld.shared.u32 %r2, [%s+128];
        + bar.sync 0;
          @%lead st.shared.u32 [%mine], %r1; bar.sync 0; ld.shared.u32 %r1, [%s]; ld.shared.u32 %r2, [%s+128];"""),
    Pair("syncwarp left out after divergence", "race", 2, "no barrier between", """
          @!%low bra H; st.shared.u32 [%mine], %t; H:
        + bar.warp.sync -1;
          xor.b32 %r1, %t, 16; mad.lo.u32 %r1, %r1, 4, %s; @!%low ld.shared.u32 %r2, [%r1];""", 32),
    Pair("warp tail of a reduction without syncwarp", "race", 1, "no barrier between", """
          st.shared.u32 [%mine], %t;
        + bar.warp.sync -1;
          ld.volatile.shared.u32 %r1, [%mine+64]; ld.volatile.shared.u32 %r2, [%mine];
          add.u32 %r1, %r1, %r2;
        + bar.warp.sync -1;
          @%low st.volatile.shared.u32 [%mine], %r1;
        + bar.warp.sync -1;
          ld.volatile.shared.u32 %r1, [%mine+32];""", 32),
    Pair("shuffle from a lane that is not in the branch", "undefined_read", 1, "it is not in the mask, or has exited. The value is stored for others to read here", """
        - @!%low bra E; shfl.sync.down.b32 %r1, %t, 16, 31, 65535; st.global.u32 [%gt], %r1;
        + shfl.sync.down.b32 %r1, %t, 16, 31, -1; @!%low bra E; st.global.u32 [%gt], %r1;""", 32),
    Pair("shuffle from a lane that has left", "undefined_read", 1, "it is not in the mask, or has exited. The value is stored for others to read here", """
        - setp.ge.u32 %p, %t, 24; @%p bra E; shfl.sync.down.b32 %r1, %t, 8, 31, 16777215; st.global.u32 [%gt], %r1;
        + setp.ge.u32 %p, %t, 24; shfl.sync.down.b32 %r1, %t, 8, 31, -1; @%p bra E; st.global.u32 [%gt], %r1;""", 32),
    Pair("out of bounds by one", "out_of_bounds", 1, "is just past the end of `x` (16384 bytes)", """
        - add.u32 %r1, %t, 4033; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %g, %d1; st.global.u32 [%d1], %t;
        + add.u32 %r1, %t, 4032; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %g, %d1; st.global.u32 [%d1], %t;"""),
    Pair("a vector at an odd word", "misaligned", 1, "is not aligned to 8 bytes (it is 4 past)", """
        - shl.b32 %r1, %t, 4; cvt.u64.u32 %d1, %r1; add.u64 %d1, %g, %d1; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1+4];
        + shl.b32 %r1, %t, 4; cvt.u64.u32 %d1, %r1; add.u64 %d1, %g, %d1; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1+16];""", 32),
    Pair("tile's last column never filled", "undefined_read", 2, "reads smem+0xfc, which nobody wrote; the value is stored for others to read here", """
        - setp.lt.u32 %p, %t, 63; @%p st.shared.u32 [%mine], %t; bar.sync 0;
        + st.shared.u32 [%mine], %t; bar.sync 0;
          ld.shared.u32 %r1, [%next]; st.global.u32 [%gt], %r1;"""),
    Pair("half of a vector read never written", "undefined_read", 3, "reads smem+0x4, which nobody wrote; the value is stored for others to read here", """
          shl.b32 %r1, %t, 3; add.u32 %r1, %r1, %s;
        - st.shared.u32 [%r1], %t;
        + st.shared.v2.u32 [%r1], {%t, %t};
          ld.shared.v2.u32 {%r2, %r3}, [%r1]; add.u32 %r2, %r2, %r3; st.global.u32 [%gt], %r2;"""),
    Pair("elect.sync: the elected lane reads what others wrote", "race", 2, "no barrier between", """
          st.shared.u32 [%mine], %t;
        + bar.warp.sync -1;
          elect.sync %r1|%q, -1; @%q ld.shared.u32 %r2, [%s+64];""", 32),
    Pair("vote of active lanes taken for a barrier", "race", 3, "no barrier between", """
          st.shared.u32 [%mine], %t;
        - activemask.b32 %r1; vote.sync.ballot.b32 %r2, %q, %r1;
        + bar.warp.sync -1;
          ld.shared.u32 %r2, [%next];""", 32),
    Pair("match taken for a barrier", "race", 3, "no barrier between", """
          st.shared.u32 [%mine], %t;
        - match.any.sync.b32 %r1, %t, -1;
        + bar.warp.sync -1;
          ld.shared.u32 %r2, [%next];""", 32),
    Pair("mask of the barrier lacks the reader", "race", 3, "no barrier between", """
          st.shared.u32 [%mine], %t;
        - @!%low bra G; bar.warp.sync 65535; G:
        + bar.warp.sync -1;
          xor.b32 %r1, %t, 16; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];""", 32),
    Pair("ldmatrix before the barrier", "race", 1, "no barrier between", """
          st.shared.u32 [%mine], %t; mad.lo.u32 %r6, %lane, 16, %s;
        + bar.sync 0;
          ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r6];""", 128),
]  # fmt: skip
