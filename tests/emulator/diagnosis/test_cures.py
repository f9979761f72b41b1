"""Fixes cure: each broken kernel is found with a fix, and the kernel edited by that fix is silent.

The texts are whole. A line of an edit that begins with `-` is in the broken kernel alone, one with `+` in the cured one.

Modules tested here: dsl/emulator/check/trail.py, dsl/emulator/diagnosis/between.py,
dsl/emulator/diagnosis/deadlock_fixes.py, dsl/emulator/diagnosis/reasons/flags.py, dsl/emulator/diagnosis/group_waits.py.
"""

import re

import pytest

from tests.emulator.diagnosis.cured_programs import Program as P, fix_of

PROGRAMS = [
    P("no barrier", "race",
     "put a barrier of the block (bar.sync) between line 1 and line 2", """
        st.shared.u32 [%mine], %t;
      + bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("write after read", "race",
     "put a barrier of the block (bar.sync) between line 1 and line 2", """
        ld.global.u32 %r1, [%gn];
      + bar.sync 0;
        st.global.u32 [%gt], %r1;"""),
    P("one statement", "race",
     "let line 3 read into a register, then put a barrier of the block (bar.sync), and only then write", """
        st.shared.u32 [%mine], %t;
        bar.sync 0;
      - ld.shared.u32 %r1, [%next]; add.u32 %r1, %r1, 1; st.shared.u32 [%mine], %r1;
      + ld.shared.u32 %r1, [%next]; add.u32 %r1, %r1, 1;
      + bar.sync 0;
      + st.shared.u32 [%mine], %r1;
        bar.sync 0;"""),
    P("scan with a barrier after", "race",
     "let line 5 read into a register, then put a barrier of the block (bar.sync) that all its threads reach, "
     "and only then write", """
        st.shared.u32 [%mine], %t;
        bar.sync 0;
        mov.u32 %d, 1;
        L: setp.lt.u32 %q, %t, %d; mul.lo.u32 %r3, %d, 4; sub.u32 %r4, %mine, %r3; @%q bra S;
      - ld.shared.u32 %r1, [%r4]; ld.shared.u32 %r2, [%mine]; add.u32 %r1, %r1, %r2; st.shared.u32 [%mine], %r1;
      + ld.shared.u32 %r1, [%r4]; ld.shared.u32 %r2, [%mine]; add.u32 %r1, %r1, %r2;
        S:
      + bar.sync 0; @%q bra T;
      + st.shared.u32 [%mine], %r1;
      + T:
        bar.sync 0;
        shl.b32 %d, %d, 1; setp.lt.u32 %p, %d, 64; @%p bra L;"""),
    P("a tree's step", "race",
     "put a barrier of the block (bar.sync) before the next round of line 5", """
        st.shared.u32 [%mine], %t;
        bar.sync 0;
        mov.u32 %d, 32;
        L: setp.ge.u32 %q, %t, %d; mul.lo.u32 %r3, %d, 4; add.u32 %r4, %mine, %r3; @%q bra S;
        ld.shared.u32 %r1, [%r4]; ld.shared.u32 %r2, [%mine]; add.u32 %r1, %r1, %r2; st.shared.u32 [%mine], %r1;
        S:
      + bar.sync 0;
        shr.u32 %d, %d, 1; setp.ne.u32 %p, %d, 0; @%p bra L;"""),
    P("a tree's step unrolled", "race",
     "put a barrier of the block (bar.sync) between line 4 and line 5", """
        st.shared.u32 [%mine], %t;
        bar.sync 0;
        setp.ge.u32 %q, %t, 32; @%q bra S; ld.shared.u32 %r1, [%mine+128]; ld.shared.u32 %r2, [%mine]; add.u32 %r1, %r1, %r2; st.shared.u32 [%mine], %r1; S:
      + bar.sync 0;
        setp.ge.u32 %q, %t, 16; @%q bra S2; ld.shared.u32 %r1, [%mine+64]; ld.shared.u32 %r2, [%mine]; add.u32 %r1, %r1, %r2; st.shared.u32 [%mine], %r1; S2:
      + bar.sync 0;
        setp.ge.u32 %q, %t, 8; @%q bra S3; ld.shared.u32 %r1, [%mine+32]; ld.shared.u32 %r2, [%mine]; add.u32 %r1, %r1, %r2; st.shared.u32 [%mine], %r1; S3:"""),
    P("no barrier before the next round", "race",
     "put a barrier of the block (bar.sync) between line 4 and the next round of line 2", """
        mov.u32 %i, 0; L:
        st.shared.u32 [%mine], %i;
        bar.sync 0;
        ld.shared.u32 %r1, [%next];
      + bar.sync 0;
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    P("no barrier in the round", "race",
     "put a barrier of the block (bar.sync) between line 2 and line 3", """
        mov.u32 %i, 0; L:
        st.shared.u32 [%mine], %i;
      + bar.sync 0;
        ld.shared.u32 %r1, [%next];
        bar.sync 0;
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    P("two buffers, no barrier", "race",
     "put a barrier of the block (bar.sync) between line 2 and line 3", """
        mov.u32 %i, 0; L: and.b32 %r5, %i, 1; mad.lo.u32 %r6, %r5, 512, %mine; mad.lo.u32 %r7, %r5, 512, %next;
        st.shared.u32 [%r6], %t;
      + bar.sync 0;
        ld.shared.u32 %r8, [%r7];
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    P("two buffers filled ahead", "race",
     "put a barrier of the block (bar.sync) between line 4 and the next round of line 3", """
        st.shared.u32 [%mine], %t; bar.sync 0;
        mov.u32 %i, 0; L: and.b32 %r5, %i, 1; mad.lo.u32 %r7, %r5, 512, %next; xor.b32 %r5, %r5, 1; mad.lo.u32 %r6, %r5, 512, %mine;
        st.shared.u32 [%r6], %t;
        ld.shared.u32 %r8, [%r7];
      + bar.sync 0;
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    P("halo", "race",
     "put a barrier of the block (bar.sync) between line 2 and line 3", """
        st.shared.u32 [%mine+4], %t;
        @%first st.shared.u32 [%s], 0;
      + bar.sync 0;
        ld.shared.u32 %r1, [%mine]; ld.shared.u32 %r2, [%mine+4];"""),
    P("histogram zeroed late", "race",
     "put a barrier of the block (bar.sync) between line 1 and line 3; or make both atomic", """
        st.shared.u32 [%mine], 0;
        and.b32 %r1, %t, 3; mad.lo.u32 %r1, %r1, 4, %s;
      + bar.sync 0;
        atom.shared.add.u32 %r2, [%r1], 1;"""),
    P("histogram read early", "race",
     "put a barrier of the block (bar.sync) between line 4 and line 5", """
        st.shared.u32 [%mine], 0;
        and.b32 %r1, %t, 3; mad.lo.u32 %r1, %r1, 4, %s;
        bar.sync 0;
        atom.shared.add.u32 %r2, [%r1], 1;
      + bar.sync 0;
        ld.shared.u32 %r3, [%mine];"""),
    P("histogram plain", "race",
     "use an atomic at line 3: several threads read and write this place there", """
        st.shared.u32 [%mine], 0; and.b32 %r1, %t, 3; mad.lo.u32 %r1, %r1, 4, %s;
        bar.sync 0;
      - ld.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, 1; st.shared.u32 [%r1], %r2;
      + atom.shared.add.u32 %r2, [%r1], 1;"""),
    P("transpose", "race",
     "put a barrier of the block (bar.sync) between line 1 and line 3", """
        st.shared.u32 [%mine], %t;
        and.b32 %r1, %t, 7; shl.b32 %r1, %r1, 3; shr.u32 %r2, %t, 3; or.b32 %r1, %r1, %r2; mad.lo.u32 %r1, %r1, 4, %s;
      + bar.sync 0;
        ld.shared.u32 %r3, [%r1];"""),
    P("barrier of the warp", "race",
     "put a barrier of the block (bar.sync) in the place of the one of the warp at line 2: the threads are of "
     "warps 1 and 0", """
        st.shared.u32 [%mine], %t;
      - bar.warp.sync -1;
      + bar.sync 0;
        add.u32 %r1, %t, 32; rem.u32 %r1, %r1, 64; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];"""),
    P("mask of the warp", "race",
     "give the barrier of the warp at line 3 one mask that has both lanes, 16 and 15: -1 has all; it is "
     "0xffff0000 for the one and 0xffff for the other", """
        st.shared.u32 [%mine], %t;
      - selp.b32 %r1, 65535, -65536, %low;
      + mov.u32 %r1, -1;
        bar.warp.sync %r1;
        ld.shared.u32 %r2, [%next];""", 32),
    P("half of the warp", "race",
     "let lane 16 pass the barrier of the warp at line 2 too, with all lanes in its mask (-1)", """
        st.shared.u32 [%mine], %t;
      - @%low bar.warp.sync 65535;
      + bar.warp.sync -1;
        xor.b32 %r1, %t, 16; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];""", 32),
    P("shuffle", "race",
     "put a barrier of the warp (bar.warp.sync) or of the block (bar.sync) between line 1 and line 3; "
     "`shfl.sync.idx.b32` at line 2 moves registers, and orders no memory", """
        st.shared.u32 [%mine], %t;
        shfl.sync.idx.b32 %r2, %t, 0, 31, -1;
      + bar.warp.sync -1;
        ld.shared.u32 %r1, [%next];""", 32),
    P("fence alone", "race",
     "put a barrier of the block (bar.sync) between line 1 and line 3; the fence at line 2 orders accesses"
     " of one thread only, and waits for nobody", """
        st.shared.u32 [%mine], %t;
      - membar.cta;
      + bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("two ids", "race",
     "let both meet at one barrier: line 3 is at barrier 2, line 3 at barrier 1", """
        st.shared.u32 [%mine], %t;
      - add.u32 %r1, %w, 1;
      + mov.u32 %r1, 1;
      - bar.sync %r1, 32;
      + bar.sync %r1, 64;
        xor.b32 %r1, %t, 32; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];"""),
    P("arrives and reads", "race",
     "wait at line 2 (bar.sync): bar.arrive there does not wait, so nothing is ordered before what follows", """
        setp.eq.u32 %q, %w, 1; @%q bra C; st.shared.u32 [%mine], %t; bar.sync 1, 64; bra E;
      - C: bar.arrive 1, 64;
      + C: bar.sync 1, 64;
        ld.shared.u32 %r1, [%mine+-128];"""),
    P("barrier of one arm", "race",
     "let thread (32, 0, 0) pass the barrier at line 2 too: put it where all threads that share this memory "
     "come by", """
        st.shared.u32 [%mine], %t;
      - @%warp0 bar.sync 1, 32;
      + bar.sync 1, 64;
        xor.b32 %r1, %t, 32; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];"""),
    P("role of one warp", "race",
     "put a barrier of the block (bar.sync) between line 2 and line 3", """
        @!%warp0 bra E;
        st.shared.u32 [%mine], %t;
      + bar.warp.sync -1;
        and.b32 %r1, %r0, 31; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];
        mov.u32 %r5, 0;"""),
    P("copy not committed", "race",
     "commit what line 1 begins (cp.async.commit_group) before the wait at line 2, which is for groups that "
     "were committed", """
        cp.async.ca.shared.global [%mine], [%gt], 4;
      + cp.async.commit_group;
        cp.async.wait_group 0;
        bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("copy not waited for", "race",
     "wait for the copy (cp.async.wait_group 0), then a barrier of the block, before line 4", """
        cp.async.ca.shared.global [%mine], [%gt], 4;
        cp.async.commit_group;
      + cp.async.wait_group 0;
        bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("copy neither", "race",
     "commit the group and wait for the copy (cp.async.wait_group 0), then a barrier of the block, before line"
     " 2", """
        cp.async.ca.shared.global [%mine], [%gt], 4;
      + cp.async.wait_all;
      + bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("own copy", "race",
     "wait for the copy (cp.async.wait_group 0) before line 3", """
        cp.async.ca.shared.global [%mine], [%gt], 4;
        cp.async.commit_group;
      + cp.async.wait_group 0;
        ld.shared.u32 %r1, [%mine];"""),
    P("count too large", "race",
     "write cp.async.wait_group 1 at line 5: 2 leaves the last 2 groups on their way, and 2 were committed "
     "from line 1 on. If this is so in the last rounds alone, commit a group in each round, also an empty one", """
        cp.async.ca.shared.global [%mine], [%gt], 4;
        cp.async.commit_group;
        cp.async.ca.shared.global [%mine+1024], [%gt], 4;
        cp.async.commit_group;
      - cp.async.wait_group 2;
      + cp.async.wait_group 1;
        bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("copy waited for, no barrier", "race",
     "put a barrier of the block (bar.sync) between the wait at line 3 and line 4", """
        cp.async.ca.shared.global [%mine], [%gt], 4;
        cp.async.commit_group;
        cp.async.wait_group 0;
      + bar.sync 0;
        ld.shared.u32 %r1, [%next];"""),
    P("ring overwritten", "race",
     "put a barrier of the block (bar.sync) between line 6 and the next round of line 2", """
        mov.u32 %i, 0; L:
        cp.async.ca.shared.global [%mine], [%gt], 4;
        cp.async.commit_group;
        cp.async.wait_group 0;
        bar.sync 0;
        ld.shared.u32 %r1, [%next];
      + bar.sync 0;
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;"""),
    P("flag without release", "race",
     "make the write of the flag at line 2 a release (a fence before it, or .release) and make the read of the"
     " flag at line 4 an acquire (a fence after it, or .acquire)", """
        @!%first bra C; st.global.u32 [%g], 7;
      + membar.gl;
        st.volatile.global.u32 [%g+256], 1; bra E;
        C: setp.ne.u32 %q, %t, 32; @%q bra E;
        L: ld.volatile.global.u32 %r1, [%g+256]; setp.eq.u32 %p, %r1, 0; @%p bra L;
      + membar.gl;
        ld.global.u32 %r2, [%g];"""),
    P("flag without acquire", "race",
     "make the read of the flag at line 4 an acquire (a fence after it, or .acquire)", """
        @!%first bra C; st.global.u32 [%g], 7;
        st.release.gpu.global.u32 [%g+256], 1; bra E;
        C: setp.ne.u32 %q, %t, 32; @%q bra E;
      - L: ld.relaxed.gpu.global.u32 %r1, [%g+256]; setp.eq.u32 %p, %r1, 0; @%p bra L;
      + L: ld.acquire.gpu.global.u32 %r1, [%g+256]; setp.eq.u32 %p, %r1, 0; @%p bra L;
        ld.global.u32 %r2, [%g];"""),
    P("mbarrier arrival before the write", "race",
     "arrive at the mbarrier after line 4: line 3 arrives before it", """
        @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0;
        @!%warp0 bra C;
      - mbarrier.arrive.shared.b64 _, [full];
        st.shared.u32 [%mine], %t;
      + mbarrier.arrive.shared.b64 _, [full];
        bra E;
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;
        ld.shared.u32 %r1, [%mine+-128];"""),
    P("mbarrier wrong parity", "deadlock",
     "wait for parity 0 at kernel.py:6, if it is for what the threads have arrived for until now: that phase "
     "has ended, and nobody arrives for the one of parity 1", """
        @%first mbarrier.init.shared.b64 [full], 32; bar.sync 0;
        @!%warp0 bra C;
        st.shared.u32 [%mine], %t;
        mbarrier.arrive.shared.b64 _, [full];
        bra E;
      - C: mbarrier.try_wait.parity.shared.b64 %p, [full], 1; @!%p bra C;
      + C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;
        ld.shared.u32 %r1, [%mine+-128];"""),
    P("role that others skip", "race",
     "put a barrier of the block (bar.sync) between line 3 and line 4", """
        @%warp0 bra R; st.shared.u32 [%mine+512], %t; bar.sync 2, 32; bra E;
        R: nanosleep.u32 9; bar.sync 3, 32;
        st.shared.u32 [%mine], %t;
      + bar.warp.sync -1;
        and.b32 %r1, %r0, 31; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];
        mov.u32 %r5, 0;"""),
    P("one lane at elect", "deadlock",
     "let all lanes of warp 0 come to kernel.py:2: `elect.sync` is an operation of the warp, and only lane 0 "
     "gets there; ask for the warp in the condition around it (`if warp == 0`), not for some of its lanes", """
      - @!%first bra S;
      + @!%warp0 bra S;
        elect.sync _|%q, -1;
        S: bar.sync 0;"""),
    P("one lane at a shuffle", "deadlock",
     "let all lanes of warp 0 come to kernel.py:2: `shfl.sync` is an operation of the warp, and only lane 0 "
     "gets there; ask for the warp in the condition around it (`if warp == 0`), not for some of its lanes; or "
     "name the lanes that come in its mask, 0x1", """
      - @!%first bra S;
      + @!%warp0 bra S;
        shfl.sync.idx.b32 %r1, %t, 0, 31, -1;
        S: bar.sync 0;"""),
    P("some lanes of a mask of half a warp", "deadlock",
     "let warp 0 lanes 8-15 come to kernel.py:4 too: the mask of `shfl.sync` there, 0x0000ffff, names them; or name the "
     "lanes that come, 0xff", """
        and.b32 %r3, %lane, 15;
      - setp.ge.u32 %p, %r3, 8;
      + setp.ge.u32 %p, %r3, 16;
        and.b32 %r4, %lane, 16; shl.b32 %r5, 0xffff, %r4; @%p bra S;
        shfl.sync.idx.b32 %r1, %t, 0, 31, %r5;
        S: bar.sync 0;"""),
    P("two barriers", "deadlock",
     "let both meet at one barrier: warp 0 wait at barrier 1 (kernel.py:2), warp 1 at barrier 2 (kernel.py:2)", """
      - add.u32 %r1, %w, 1;
      + mov.u32 %r1, 1;
        bar.sync %r1, 64;"""),
    P("a count of more than the block", "deadlock",
     "let barrier 1 at kernel.py:1 count the 64 threads that come, not 128", """
      - bar.sync 1, 128;
      + bar.sync 1, 64;
        mov.u32 %r1, 0;"""),
    P("a warp leaves before", "deadlock",
     "let barrier 1 at kernel.py:2 count the 32 threads that come, not 64; or let warp 0, which left, come to "
     "it first", """
      - @%warp0 bra E;
        bar.sync 1, 64;"""),
    P("bytes that nobody expects", "deadlock",
     "let a thread arrive at the mbarrier smem+0x4000 and expect the 256 bytes of kernel.py:2 there "
     "(mbarrier.arrive.expect_tx): they have come, and nobody expects them", """
        @%first mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster; bar.sync 0; @!%first bra C;
      + mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("a write and a read in two branches", "race",
     "put a barrier of the block (bar.sync) that all its threads reach between line 2 and line 4", """
        bra X;
        W: st.shared.u32 [%mine], %t;
      + bar.sync 0;
        bra E;
      + R: bar.sync 0; ld.shared.u32 %r1, [%mine+-128]; bra E;
      - R: ld.shared.u32 %r1, [%mine+-128]; bra E;
        X: @%warp0 bra W;
        bra R;"""),
    P("a flag before what it is for", "race", "write the flag after line 6: line 5 writes it before", """
        @%first st.shared.u32 [other], 0; bar.sync 0;
        @%warp0 bra W;
        A: ld.acquire.cta.shared.u32 %r1, [other]; setp.ne.u32 %p, %r1, 1; @%p bra A;
        ld.shared.u32 %r2, [%mine+-128]; bra E;
      - W: @%first st.release.cta.shared.u32 [other], 1;
      - st.shared.u32 [%mine], %t;
      + W: st.shared.u32 [%mine], %t;
      + bar.warp.sync -1; @%first st.release.cta.shared.u32 [other], 1;"""),
    P("a bulk store before all have written, in a loop", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) and then a barrier of the block (bar.sync) between line 3 and "
     "line 5", """
        mov.u32 %i, 0;
        L: bar.sync 0;
        st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta;
      + bar.sync 0;
        @!%first bra S;
        cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group;
        S: bar.sync 0; @%first cp.async.bulk.wait_group.read 0;
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra L;"""),
    P("two copies to one place", "race",
     "let line 4 wait for the slot's empty mbarrier (`pipeline.producer_acquire`); who reads the slot arrives there "
     "once the copy at line 3 has been read, if both go to one place", """
        @%first mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster; bar.sync 0; @!%first bra C;
        mbarrier.arrive.expect_tx.shared.b64 _, [full], 512;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
      - cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
      + cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+256], [%g], 256, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("two warps arrive, one is counted", "deadlock",
     "init the mbarrier at smem+0x4008 with 2 arrivals at kernel.py:2: it counts 1, and 2 threads arrive", """
        @%first mbarrier.init.shared.b64 [full], 1;
      - @%first mbarrier.init.shared.b64 [empty], 1;
      + @%first mbarrier.init.shared.b64 [empty], 2;
        bar.sync 0;
        mov.u32 %i, 0; mov.u32 %d, 0; setp.lt.u32 %q, %w, 2; @!%q bra P;
        L: A1: mbarrier.try_wait.parity.shared.b64 %q, [full], %d; @!%q bra A1; xor.b32 %d, %d, 1;
        ld.shared.u32 %r5, [%s]; bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [empty];
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L; bra E;
        P: @!%lead bra E; mov.u32 %d, 1; PL:
        A2: mbarrier.try_wait.parity.shared.b64 %q, [empty], %d; @!%q bra A2; xor.b32 %d, %d, 1;
        st.shared.u32 [%s], %i; mbarrier.arrive.shared.b64 _, [full];
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra PL;""", 96),
    P("a warp leaves an mbarrier", "deadlock",
     "let warp 0, which exited, arrive at the mbarrier smem+0x4000 for the last time by mbarrier.arrive_drop, so "
     "that the phases after it do not count them", """
        @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0; @!%warp0 bra L;
      - mbarrier.arrive.shared.b64 _, [full]; bra E;
      + mbarrier.arrive_drop.shared.b64 _, [full]; bra E;
        L: mbarrier.arrive.shared.b64 _, [full];
        A1: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra A1; mbarrier.arrive.shared.b64 _, [full];
        A2: mbarrier.try_wait.parity.shared.b64 %p, [full], 1; @!%p bra A2;"""),
    P("a ticket lock that an ordinary store gives back", "race",
     "write the flag at line 4 by a release (st.release.gpu), as line 3 expects: an ordinary store orders nothing", """
        @!%first bra E; atom.global.add.u32 %r1, [%g+256], 1;
        add.u32 %r3, %r1, 1;
        A: ld.acquire.gpu.global.u32 %r2, [%g+260]; setp.ne.u32 %p, %r2, %r1; @%p bra A;
      - st.global.u32 [%g+260], %r3;
      + st.release.gpu.global.u32 [%g+260], %r3;""", 32, 2),
    P("two blocks add", "race", "use an atomic at line 1: several threads read and write this place there", """
      - ld.global.u32 %r1, [%gt]; add.u32 %r1, %r1, 1; st.global.u32 [%gt], %r1;
      + red.global.add.u32 [%gt], 1;""", 32, 2),
    P("two blocks add, in two lines", "race",
     "use one atomic in the place of line 1, which reads, and line 2, which writes what it makes of that", """
      - ld.global.u32 %r1, [%gt];
      - add.u32 %r1, %r1, 1; st.global.u32 [%gt], %r1;
      + red.global.add.u32 [%gt], 1;""", 32, 2),
    P("mbarrier with too many", "deadlock",
     "init the mbarrier smem+0x4000 with 64 arrivals, or let each of the 65 that it counts arrive", """
      - @%first mbarrier.init.shared.b64 [full], 65;
      + @%first mbarrier.init.shared.b64 [full], 64;
        bar.sync 0;
        mbarrier.arrive.shared.b64 _, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("mbarrier nobody arrives at", "deadlock",
     "arrive at the mbarrier smem+0x4000 once (mbarrier.arrive), as its mbarrier.init requires, or do not wait at "
     "kernel.py:2", """
        @%first mbarrier.init.shared.b64 [full], 1; bar.sync 0;
      + @%first mbarrier.arrive.shared.b64 _, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("mbarrier phase that has ended", "deadlock",
     "wait for parity 0 at kernel.py:4, if it is for what the threads have arrived for until now: that phase "
     "has ended, and nobody arrives for the one of parity 1", """
        @%first mbarrier.init.shared.b64 [full], 64; bar.sync 0;
        mbarrier.arrive.shared.b64 _, [full];
        bar.sync 0;
      - C: mbarrier.try_wait.parity.shared.b64 %p, [full], 1; @!%p bra C;
      + C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("bytes without a copy", "deadlock",
     "begin a copy of 256 bytes that signals the mbarrier smem+0x4000, which kernel.py:2 expects: none was "
     "begun", """
        @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 64; bar.sync 0;
        @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
      + @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("too many bytes expected", "deadlock",
     "expect 256 bytes at kernel.py:2, or let the copies of kernel.py:3 bring 512", """
        @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 64; bar.sync 0;
      - @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 512;
      + @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
        @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("a wait without arrival at the cluster", "illegal",
     "let the threads that wait arrive first: barrier.cluster.arrive (cute.arch.cluster_arrive)", """
      + barrier.cluster.arrive;
        barrier.cluster.wait;""", 64, 2, 2),
    P("two arrivals at the cluster", "illegal",
     "let each barrier.cluster.arrive be followed by a barrier.cluster.wait (cute.arch.cluster_wait) of its "
     "threads", """
        barrier.cluster.arrive;
      - barrier.cluster.arrive;
        barrier.cluster.wait;""", 64, 2, 2),
    P("barrier 16", "illegal",
     "use an id from 0 to 15", """
      - mov.u32 %r1, 16;
      + mov.u32 %r1, 15;
        bar.sync %r1;"""),
    P("count of 48", "illegal",
     "let it count 64: whole warps arrive, whichever of their lanes run", """
      - mov.u32 %r1, 48;
      + mov.u32 %r1, 64;
        bar.sync 1, %r1;"""),
    P("counts that differ", "illegal",
     "give every arrival at one barrier the same count", """
      - selp.b32 %r1, 64, 128, %warp0;
      + mov.u32 %r1, 64;
        bar.sync 1, %r1;"""),
    P("lane outside its mask", "illegal",
     "every executing lane must be in its own mask", """
      - bar.warp.sync 65535;
      + bar.warp.sync -1;""", 32),
    P("undefined", "undefined_read",
     "write it first: every thread that shares it must have written its part before", """
      + st.shared.u32 [%mine], %t;
      + bar.sync 0;
        ld.shared.u32 %r1, [%next]; st.global.u32 [%gt], %r1;"""),
    P("TMA load read early", "race",
     "wait for the phase of the full mbarrier that the copy at line 2 signals (`pipeline.consumer_wait`) "
     "before line 4", """
        @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 64; bar.sync 0; @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
        @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        bar.sync 0;
      + C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;
        ld.shared.u32 %r1, [%mine];"""),
    P("written before a TMA load", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) and then a barrier between line 2 and line 3", """
        @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 64; bar.sync 0;
        st.shared.u32 [%mine], %t;
      + fence.proxy.async.shared::cta;
      + bar.sync 0;
        @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
    P("TMA store without a barrier", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) and then a barrier between line 1 and line 2", """
        st.shared.u32 [%mine], %t;
      + fence.proxy.async.shared::cta;
      + bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"""),
    P("TMA store without a proxy fence", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) after the writes at line 1, before the barrier that line"
     " 3 comes after", """
        st.shared.u32 [%mine], %t;
      + fence.proxy.async.shared::cta;
        bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"""),
    P("TMA store with another proxy's fence", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) after the writes at line 1, before the barrier that line"
     " 4 comes after; `fence.proxy.alias` at line 2 is for another proxy", """
        st.shared.u32 [%mine], %t;
      - fence.proxy.alias;
      + fence.proxy.async.shared::cta;
        bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"""),
    P("TMA store with a fence too early", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) after the writes at line 2, before the barrier that line"
     " 4 comes after", """
      - fence.proxy.async.shared::cta;
        st.shared.u32 [%mine], %t;
      + fence.proxy.async.shared::cta;
        bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"""),
    P("TMA store with the leader's fence", "race",
     "put fence.proxy.async (`cute.arch.fence_proxy`) after the writes at line 1, before the barrier that line"
     " 4 comes after, in each thread that writes: the thread of the fence at line 2 had not seen those writes "
     "then", """
        st.shared.u32 [%mine], %t;
      - @%first fence.proxy.async.shared::cta;
      + fence.proxy.async.shared::cta;
        bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"""),
    P("TMA store not waited for", "race",
     "let the thread of the store wait for it, cp.async.bulk.wait_group.read "
     "(`cute.arch.cp_async_bulk_wait_group(0, read=True)`), and then a barrier (or the arrival at the empty "
     "mbarrier) that line 4 comes after", """
        st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta; bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group;
      + cp.async.bulk.wait_group.read 0;
        bar.sync 0;
        st.shared.u32 [%mine], %t;"""),
    P("TMA store, wait of too few", "race",
     "write cp.async.bulk.wait_group.read 0 at line 3: 1 leaves the last 1 groups on their way, and only one "
     "was committed from line 2 on; then a barrier (or the arrival at the empty mbarrier) that line 5 comes "
     "after", """
        st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta; bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group;
      - cp.async.bulk.wait_group.read 1;
      + cp.async.bulk.wait_group.read 0;
        bar.sync 0;
        st.shared.u32 [%mine], %t;"""),
    P("TMA store not committed", "race",
     "commit what line 2 begins (cp.async.bulk.commit_group) before the wait at line 3, which is for groups "
     "that were committed; then a barrier (or the arrival at the empty mbarrier) that line 5 comes after", """
        st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta; bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256;
      + cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;
        bar.sync 0;
        st.shared.u32 [%mine], %t;"""),
    P("TMA store, no barrier after the wait", "race",
     "put a barrier between the wait at line 3 and line 4", """
        st.shared.u32 [%mine], %t; fence.proxy.async.shared::cta; bar.sync 0;
        @%first cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 256; cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;
      + bar.sync 0;
        st.shared.u32 [%mine], %t;"""),
    P("TMA slot not given back", "deadlock",
     "let who fills what kernel.py:2 waits for wait until all have seen the phase before, at an empty mbarrier"
     " where they arrive (`pipeline.producer_acquire`): the phase that they wait for has ended, and so has the"
     " next one", """
        @%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 64; bar.sync 0; @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;
        ld.shared.u32 %r1, [%mine];
      + mbarrier.arrive.shared.b64 _, [empty]; @!%first bra S; D: mbarrier.try_wait.parity.shared.b64 %p, [empty], 0; @!%p bra D; S:
        @%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256; @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
        F: mbarrier.try_wait.parity.shared.b64 %p, [full], 1; @!%p bra F;"""),
    P("cluster: a read of what the other block wrote", "race",
     "let the blocks meet between: barrier.cluster.arrive and .wait (cute.arch.cluster_arrive and "
     "cluster_wait); or let the block that is done arrive at an mbarrier of the other (mapa, "
     "mbarrier.arrive.release.cluster), which waits for it; the barrier at line 2 is one of a block", """
        st.shared.u32 [%mine], %t;
      - bar.sync 0;
      + barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r1, %b, 1; mapa.shared::cluster.u32 %r2, %mine, %r1; ld.shared::cluster.u32 %r3, [%r2];
        barrier.cluster.arrive; barrier.cluster.wait;""", 64, 2, 2),
    P("cluster: relaxed arrival", "race",
     "write barrier.cluster.arrive (cute.arch.cluster_arrive) for `barrier.cluster.arrive.relaxed;`, or fence "
     "before it; .relaxed orders no memory", """
        st.shared.u32 [%mine], %t;
      - barrier.cluster.arrive.relaxed; barrier.cluster.wait;
      + barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r1, %b, 1; mapa.shared::cluster.u32 %r2, %mine, %r1; ld.shared::cluster.u32 %r3, [%r2];
        barrier.cluster.arrive; barrier.cluster.wait;""", 64, 2, 2),
    P("cluster: a block that ends early", "exited_block",
     "let no block end before the others have made their last access to its shared memory: "
     "barrier.cluster.arrive and .wait at the end of the kernel (cute.arch.cluster_arrive and cluster_wait)", """
        st.shared.u32 [%mine], %t;
        barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r1, %b, 1; mapa.shared::cluster.u32 %r2, %mine, %r1; ld.shared::cluster.u32 %r3, [%r2];
      + barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %r1, 0;""", 64, 2, 2),
    P("blocks with a flag without a release", "race",
     "make the write of the flag at line 2 a release (a fence before it, or .release)", """
        setp.ne.u32 %q, %b, 0; @%q bra C; @%first st.global.u32 [%g], 7;
      - @%first st.relaxed.gpu.global.u32 [%g+256], 1; bra E;
      + @%first st.release.gpu.global.u32 [%g+256], 1; bra E;
        C: L: ld.acquire.gpu.global.u32 %r1, [%g+256]; setp.eq.u32 %p, %r1, 0; @%p bra L;
        ld.global.u32 %r2, [%g];""", 32, 2),
    P("blocks with a flag of one block", "race",
     "give both the scope .gpu, or .cluster for blocks of one cluster: .cta is for threads of one block", """
        setp.ne.u32 %q, %b, 0; @%q bra C; @%first st.global.u32 [%g], 7;
      - @%first st.release.cta.global.u32 [%g+256], 1; bra E;
      + @%first st.release.gpu.global.u32 [%g+256], 1; bra E;
        C: L: ld.acquire.gpu.global.u32 %r1, [%g+256]; setp.eq.u32 %p, %r1, 0; @%p bra L;
        ld.global.u32 %r2, [%g];""", 32, 2),
    P("atomics of one block", "race",
     "give both the scope .gpu, or .cluster for blocks of one cluster: .cta is for threads of one block", """
      - red.relaxed.cta.global.add.u32 [%g], 1;
      + red.relaxed.gpu.global.add.u32 [%g], 1;
        mov.u32 %r1, 0;""", 32, 2),
    P("two blocks write", "race",
     "let one block write it, or use an atomic; within a launch only a release and an acquire (a flag, with "
     "fences) order blocks", """
      + setp.ne.u32 %q, %b, 0; @%q bra E;
        @%first st.global.u32 [%g], %b;""", 32, 2),
    P("mbarrier not visible", "mbarrier_not_visible",
     "put a barrier of the block (bar.sync, cute.arch.sync_threads) between mbarrier.init and the first use by"
     " another thread", """
        @%first mbarrier.init.shared.b64 [full], 64;
      + bar.sync 0;
        mbarrier.arrive.shared.b64 _, [full];
        C: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra C;"""),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_the_broken_kernel_has_the_fix(program):
    fault = program.fault()
    assert fault is not None and (fault.kind, fix_of(fault)) == (program.kind, program.fix), str(fault)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_the_cured_kernel_is_silent(program, seed):
    fault = program.fault(cured=True, seed=seed)
    assert fault is None, str(fault)


def test_each_program_is_its_own_and_the_lines_of_a_fix_are_of_the_broken_one():
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    for program in PROGRAMS:
        numbers = map(int, re.findall(r"\bline (\d+)", program.fix))
        assert all(0 < number <= len(program.lines(cured=False)) for number in numbers), program.name
