"""Blocks of a cluster: mistakes of authors, each with the same kernel put right. See test_pairs.py."""

from tests.emulator.pairs.pair import Pair

INIT = (
    "@%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 1; "
    "@%first fence.mbarrier_init.release.cluster;"
)
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
SEND = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
PEER = "xor.b32 %r19, %b, 1; mapa.shared::cluster.u32 %r18, %mine, %r19;"
PAIRS = [
    Pair("remote atomic before the peer has zeroed its counter", "race", 2, "no barrier of the cluster between", f"""
          {PEER}
          @%first st.shared.u32 [%s], 0; mapa.shared::cluster.u32 %r17, %s, %r19;
        - bar.sync 0;
        + {MEET}
          red.relaxed.cluster.shared::cluster.add.u32 [%r17], 1; {MEET} ld.shared.u32 %r1, [%s];""", 64, 2, 2),
    Pair("arrive without a wait before the peer's memory is read", "race", 2, "no barrier of the cluster between", f"""
          {PEER}
          st.shared.u32 [%mine], %t; barrier.cluster.arrive;
        - ld.shared::cluster.u32 %r1, [%r18]; barrier.cluster.wait;
        + barrier.cluster.wait; ld.shared::cluster.u32 %r1, [%r18];
          {MEET}""", 64, 2, 2),
    Pair("a block leaves after its own read", "exited_block", 2, "read of 4 bytes at smem+0x0 of block (0, 0, 0), which has exited", f"""
          {PEER}
          st.shared.u32 [%mine], %t; {MEET} ld.shared::cluster.u32 %r1, [%r18];
        + {MEET}""", 64, 2, 2),
    Pair("cluster barrier by one warp only", "race", 2, "no barrier of the cluster between", f"""
          {PEER}
          st.shared.u32 [%mine], %t; bar.sync 0;
        - @!%warp0 bra G; {MEET} G:
        + {MEET}
          ld.shared::cluster.u32 %r1, [%r18]; {MEET}""", 64, 2, 2),
    Pair("halo of the peer written again in the next round", "race", 3, "no barrier of the cluster between", f"""
          {PEER}
          mov.u32 %i, 0;
          L: st.shared.u32 [%mine], %i; {MEET} ld.shared::cluster.u32 %r1, [%r18];
        + {MEET}
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;
          {MEET}""", 64, 2, 2),
    Pair("remote arrive without mapa: its own mbarrier", "race", 3, "no barrier of the cluster between", f"""
          {PEER}{INIT} {MEET}
          mapa.shared::cluster.u32 %r17, full, %r19; mov.u32 %r16, full;
          st.shared::cluster.u32 [%r18], %t; bar.sync 0;
        - @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r16];
        + @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r1, [%next];
          {MEET}""", 64, 2, 2),
    Pair("the peer's multicast slot is given back to its own producer alone", "race", 7, "nobody has waited for it", f"""
          {PEER}{INIT.replace("[empty], 1", "[empty], 2")} {MEET}
          mapa.shared::cluster.u32 %r17, empty, 0; mov.u32 %i, 0; mov.u32 %r15, empty;
          L: and.b32 %r1, %i, 1; xor.b32 %r2, %r1, 1;
          setp.ne.u32 %q, %b, 0; @%q bra N; @!%first bra M; A0: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [empty], %r2; @!%q bra A0; bra M;
          N: @!%first bra O; M2:
          M: @!%first bra O; mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; setp.ne.u32 %q, %b, 0; @%q bra O;
          {LOAD}.multicast::cluster [smem], [%g], 256, [full], 3;
          O: A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], %r1; @!%q bra A1; ld.shared.u32 %r3, [%next];
        - setp.eq.u32 %q, %b, 0; and.pred %q, %q, %first; bar.sync 0; @%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17]; @%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17];
        + bar.sync 0; @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17];
          add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;
          {MEET}""", 64, 2, 2),
    Pair("st.async that signals its own block", "illegal", 4, "signals the mbarrier at smem+0x4000 of block (0, 0, 0), but its bytes go to block (1, 0, 0)", f"""
          {PEER}{INIT} {MEET}
          mapa.shared::cluster.u32 %r17, full, %r19; mov.u32 %r16, full;
          @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
        - st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r18], %t, [%r16];
        + st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r18], %t, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next];
          {MEET}""", 64, 2, 2),
    Pair("copy to the peer that signals its own block", "illegal", 4, "give the mbarrier of block (1, 0, 0), its address mapped as the bytes", f"""
          {PEER}{INIT} {MEET}
          mapa.shared::cluster.u32 %r17, full, %r19; mov.u32 %r16, full; mapa.shared::cluster.u32 %r15, %s, %r19;
          @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
        - @%first {SEND} [%r15+1024], [%s], 256, [%r16];
        + @%first {SEND} [%r15+1024], [%s], 256, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next+1024];
          {MEET}""", 64, 2, 2),
    Pair("copy of a block to itself", "illegal", 4, "copies to the block's own shared memory", f"""
          {PEER}{INIT} {MEET}
        - mov.u32 %r17, full; mov.u32 %r15, %s;
        + mapa.shared::cluster.u32 %r17, full, %r19; mapa.shared::cluster.u32 %r15, %s, %r19;
          @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
          @%first {SEND} [%r15+1024], [%s], 256, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next+1024];
          {MEET}""", 64, 2, 2),
    Pair("TMA load into the peer that signals its own block", "illegal", 4, "an mbarrier counts only bytes for its block", f"""
          {PEER}{INIT} {MEET}
          mapa.shared::cluster.u32 %r17, full, %r19; mov.u32 %r16, full; mapa.shared::cluster.u32 %r15, %s, %r19;
          @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
        - @%first {LOAD} [%r15], [%g], 256, [%r16];
        + @%first {LOAD} [%r15], [%g], 256, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next];
          {MEET}""", 64, 2, 2),
    Pair("arrival at the wrong mbarrier of the peer", "mbarrier_not_initialized", 3, "initialized there are those at smem+0x4000, smem+0x4008", f"""
          {PEER}{INIT} {MEET}
        - mapa.shared::cluster.u32 %r17, other, %r19;
        + mapa.shared::cluster.u32 %r17, full, %r19;
          @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; {MEET}""", 64, 2, 2),
    Pair("arrival at the peer's mbarrier after its end", "mbarrier_not_initialized", 3, "which mbarrier.inval at line 2 has ended", f"""
          {PEER}{INIT} mapa.shared::cluster.u32 %r17, full, %r19; {MEET}
        - @%first mbarrier.inval.shared.b64 [full]; {MEET}
          @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17];
        + {MEET} @%first mbarrier.inval.shared.b64 [full];""", 64, 2, 2),
    Pair("wait at the peer's mbarrier", "illegal", 4, "waits at the mbarrier at smem+0x4000 of block (1, 0, 0), which only threads of that block may", f"""
          {PEER}{INIT} mapa.shared::cluster.u32 %r17, full, %r19; {MEET}
          @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17];
          mov.u64 %d1, full; cvta.shared.u64 %d1, %d1; mapa.u64 %d2, %d1, %r19;
        - A1: mbarrier.try_wait.parity.acquire.cluster.b64 %q, [%d2], 0; @!%q bra A1; {MEET}
        + A1: mbarrier.try_wait.parity.acquire.cluster.b64 %q, [%d1], 0; @!%q bra A1; {MEET}""", 64, 2, 2),
    Pair("arrival at the peer's mbarrier that takes its state", "illegal", 2, "and takes its state, which only threads of that block may", f"""
          {PEER}{INIT} mov.u64 %d1, full; cvta.shared.u64 %d1, %d1; mapa.u64 %d2, %d1, %r19; {MEET}
        - @%first mbarrier.arrive.release.cluster.b64 %d3, [%d2];
        + @%first mbarrier.arrive.release.cluster.b64 _, [%d2];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %q, [full], 0; @!%q bra A1; {MEET}""", 64, 2, 2),
    Pair("load of the peer's word by .shared", "out_of_bounds", 3, "read of 4 bytes at smem+0x0 of block (1, 0, 0): `.shared`, as `.shared::cta`, is the memory of the own block alone", f"""
          {PEER}
          st.shared.u32 [%mine], %t; {MEET}
        - ld.shared.u32 %r1, [%r18];
        + ld.shared::cluster.u32 %r1, [%r18];
          {MEET}""", 64, 2, 2),
    Pair("write into a peer that may not have begun", "block_not_started", 2, "which may not have begun: nothing shows that it has", f"""
          {PEER}
        + {MEET}
          st.shared::cluster.u32 [%r18], %t; {MEET} ld.shared.u32 %r1, [%mine];""", 64, 2, 2),
    Pair("atomic at a peer between the arrival and the wait", "block_not_started", 2, "updates smem+0x0 of block (0, 0, 0), which may not have begun", f"""
          {PEER} mapa.shared::cluster.u32 %r17, %s, %r19;
        - barrier.cluster.arrive.relaxed; @%first atom.relaxed.cluster.shared::cluster.exch.b32 %r1, [%r17], 1; barrier.cluster.wait;
        + barrier.cluster.arrive.relaxed; barrier.cluster.wait; @%first atom.relaxed.cluster.shared::cluster.exch.b32 %r1, [%r17], 1;
          {MEET}""", 64, 2, 2),
    Pair("read of a peer by its generic address at the beginning", "block_not_started", 2, "let the blocks meet before the first access", f"""
          {PEER} mov.u64 %d1, smem; cvta.shared.u64 %d1, %d1; mapa.u64 %d2, %d1, %r19;
        - @%first st.u32 [%d2], 1; {MEET}
        + {MEET} @%first st.u32 [%d2], 1; {MEET}""", 64, 2, 2),
    Pair("block that ends while its copy to the peer is on its way", "exited_block", 3, "block (0, 0, 0) ends before it has heard of the end of the copy", f"""
          {PEER}{INIT} mapa.shared::cluster.u32 %r17, full, 1; mapa.shared::cluster.u32 %r15, %s, 1; {MEET}
          setp.eq.u32 %p, %b, 0; and.pred %p, %p, %first; setp.eq.u32 %q, %b, 1; @%q bra W;
          @%p {SEND} [%r15+1024], [%s], 256, [%r17];
          bra X;
          W: @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next+1024];
        - X:
        + X: {MEET}""", 64, 2, 2),
    Pair("st.async waited for with too few bytes", "race", 5, "nobody has waited for it", f"""
          {PEER}{INIT} {MEET}
          mapa.shared::cluster.u32 %r17, full, %r19;
        - @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
        + @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
          st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r18], %t, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next];
          {MEET}""", 64, 2, 2),
    Pair("expects after the peers may have sent", "race", 4, "the slot was not given back", f"""
          {PEER}{INIT} {MEET}
          mapa.shared::cluster.u32 %r17, full, %r19;
        - @%first mbarrier.arrive.shared.b64 _, [full]; @%first mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 256;
        + @%first mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 256; @%first mbarrier.arrive.shared.b64 _, [full];
          st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r18], %t, [%r17];
          A1: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], 0; @!%q bra A1; ld.shared.u32 %r3, [%next];
          {MEET}""", 64, 2, 2),
]  # fmt: skip
