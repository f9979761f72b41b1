"""Races, in pairs: a kernel with one, and the same kernel put right.
Whatever the order of threads, one finding or none.

Modules tested here: dsl/emulator/check/access.py, dsl/emulator/check/order.py,
dsl/emulator/diagnosis/race.py, dsl/emulator/families/memory/check.py.
"""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from dsl import emulator

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 f)
{
  .reg .b16 %h; .reg .b32 %r<20>, %t, %b, %n, %lane, %w, %s, %mine, %next, %old; .reg .b64 %g, %gt, %gn, %f, %d<6>;
  .reg .pred %p, %q, %first, %warp0, %lead;
  .shared .align 16 .b8 smem[8192];
  ld.param.u64 %g, [x]; ld.param.u64 %f, [f];
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
  and.b32 %lane, %t, 31; shr.u32 %w, %t, 5; mov.u32 %s, smem;
  mad.lo.u32 %mine, %t, 4, %s;
  add.u32 %r0, %t, 1; rem.u32 %r0, %r0, %n; mad.lo.u32 %next, %r0, 4, %s;
  mul.wide.u32 %d0, %t, 4; add.u64 %gt, %g, %d0; mul.wide.u32 %d0, %r0, 4; add.u64 %gn, %g, %d0;
  setp.eq.u32 %first, %t, 0; setp.eq.u32 %warp0, %w, 0; setp.eq.u32 %lead, %lane, 0;
"""
EXCHANGE = """
.func (.param .b32 result) exchange(.param .b64 at, .param .b32 expected, .param .b32 wanted)
{
  .reg .b32 %r<4>; .reg .b64 %d;
  ld.param.u64 %d, [at]; ld.param.u32 %r1, [expected]; ld.param.u32 %r2, [wanted];
  atom.cas.b32 %r3, [%d], %r1, %r2; st.param.b32 [result], %r3; ret;
}
"""
PUBLISH = "@%first st.global.u32 [%g], 7; {release}"
WAIT = "L: {acquire} setp.eq.u32 %p, %r2, 0; @%p bra L; {after} ld.global.u32 %r3, [%g];"
FLAG = f"setp.ne.u32 %q, %b, 0; @%q bra C; {PUBLISH} ret; C: {WAIT}"
SUM = """
  st.shared.u32 [%mine], %t; bar.sync 0; mov.u32 %r5, 32;
L: setp.ge.u32 %p, %t, %r5; @%p bra S; mad.lo.u32 %r6, %r5, 4, %mine;
  ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%mine]; add.u32 %r7, %r7, %r8; st.shared.u32 [%mine], %r7;
S: {fix} shr.u32 %r5, %r5, 1; setp.ne.u32 %p, %r5, 0; @%p bra L;
"""
BUFFERS = """
  mov.u32 %r9, 0;
L: and.b32 %r5, %r9, 1; mad.lo.u32 %r6, %r5, 512, %mine; mad.lo.u32 %r7, %r5, 512, %next;
  st.shared.u32 [%r6], %t; {fix} ld.shared.u32 %r8, [%r7];
  add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 4; @%p bra L;
"""
CAS_LOOP = """
L: add.u32 %r2, %r1, 1; atom.global.cas.b32 %r3, [%d1], %r1, %r2; setp.ne.u32 %p, %r3, %r1; mov.u32 %r1, %r3; @%p bra L;
"""
# name: (kernel with {fix}, what {fix} is in the right one, threads, blocks);
# "|" parts the racy {fix} from the right one; "¦" is a "|" of PTX
PAIRS = {
    "a neighbour's word": ("st.shared.u32 [%mine], %t; {fix} ld.shared.u32 %r1, [%next];", "bar.sync 0;", 64, 1),
    "a neighbour's word in a warp": ("st.shared.u32 [%mine], %t; {fix} ld.shared.u32 %r1, [%next];",
                                     "bar.warp.sync -1;", 32, 1),
    "a warp's barrier is none of the block": ("st.shared.u32 [%mine], %t; {fix} ld.shared.u32 %r1, [%next];",
                                              "bar.warp.sync -1;|bar.sync 0;", 64, 1),
    "a shuffle orders nothing": ("st.shared.u32 [%mine], %t; {fix} ld.shared.u32 %r1, [%next];",
                                 "shfl.sync.idx.b32 %r2, %t, 0, 31, -1;|bar.warp.sync -1;", 32, 1),
    "a vote orders nothing": ("st.shared.u32 [%mine], %t; {fix} ld.shared.u32 %r1, [%next];",
                              "vote.sync.any.pred %p, 1, -1;|bar.warp.sync -1;", 32, 1),
    "half a warp": ("st.shared.u32 [%mine], %t; {fix} ld.shared.u32 %r1, [%next];",
                    "setp.lt.u32 %p, %t, 16; selp.b32 %r2, 65535, -65536, %p; bar.warp.sync %r2;|bar.warp.sync -1;",
                    32, 1),
    "a write after reads": ("ld.shared.u32 %r1, [%next]; {fix} st.shared.u32 [%mine], %t;", "bar.sync 0;", 64, 1),
    "a write after the reads of many": ("ld.shared.u32 %r1, [%s]; {fix} @%first st.shared.u32 [%s], 1;",
                                        "bar.sync 0;", 64, 1),
    "rows that other warps wrote": ("""st.shared.u32 [%mine], %t; {fix} mad.lo.u32 %r6, %lane, 16, %s;
     ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r1, %r2, %r3, %r4}}, [%r6];""", "bar.sync 0;", 128, 1),
    "rows that a warp stored": ("""mad.lo.u32 %r6, %lane, 16, %s;
     stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {{%t, %t, %t, %t}}; {fix} ld.shared.u32 %r1, [%next];""",
                                "bar.warp.sync -1;", 32, 1),
    "one place, two values": ("{fix} st.global.u32 [%g], %t;", "|@%first", 32, 1),
    "one place, the same value from two lines": (
        "@%first st.global.u32 [%g], 5;\n {fix} @!%first st.global.u32 [%g], 5;", "bar.sync 0; @%warp0 bra E;", 32, 1),
    "a vector of which one part differs": ("st.global.v2.u32 [%g], {{7, {fix}}};", "%t|7", 32, 1),
    "bytes of which one differs": ("{fix} cvt.u16.u32 %h, %r1; st.global.u8 [%g], %h;",
                                   "shr.u32 %r1, %t, 4;|mov.u32 %r1, 3;", 32, 1),
    "a tree's step": (SUM, "bar.sync 0;", 64, 1),
    "two buffers": (BUFFERS, "|bar.sync 0;", 64, 1),
    "one buffer, one barrier": (
        BUFFERS.replace("512", "0"), "bar.sync 0;|bar.sync 0; ld.shared.u32 %r8, [%r7]; bar.sync 0; "
        "add.u32 %r9, %r9, 4; setp.lt.u32 %p, %r9, 4; @!%p bra E;",
                                64, 1),
    "the guess of a loop round cas": (
        "ld.global.u32 %r1, [%g]; {fix}", "add.u32 %r2, %r1, 1; st.global.u32 [%g], %r2;|"
        "L: add.u32 %r2, %r1, 1; atom.global.cas.b32 %r3, [%g], %r1, %r2; setp.ne.u32 %p, %r3, %r1; mov.u32 %r1, %r3; "
        "@%p bra L;", 64, 1),
    "a histogram": ("and.b32 %r1, %t, 3; mad.lo.u32 %r1, %r1, 4, %s; {fix}",
                    "ld.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, 1; st.shared.u32 [%r1], %r2;|"
                    "atom.shared.add.u32 %r2, [%r1], 1;", 64, 1),
    "an atomic and a plain read": ("atom.shared.add.u32 %r1, [%s], 1; {fix} ld.shared.u32 %r2, [%s];",
                                   "bar.sync 0;", 64, 1),
    "an atomic and a plain read of who came last": (
        "red.shared.add.u32 [%s], 1; {fix} setp.eq.u32 %p, %t, 63; @%p ld.shared.u32 %r2, [%s];", "bar.sync 0;", 64, 1),
    "an atomic and a volatile read": ("atom.shared.add.u32 %r1, [%s], 1; ld{fix}.shared.u32 %r2, [%s];",
                                      "|.volatile", 64, 1),
    "bytes of one word": ("mad.lo.u32 %r1, %t, {fix}, %s; cvt.u16.u32 %h, %t; st.shared.u8 [%r1], %h;", "0|1", 32, 1),
    "vectors that overlap": ("mad.lo.u32 %r1, %t, {fix}, %s; st.shared.v4.u32 [%r1], {{%t, %t, %t, %t}};",
                             "0|16", 32, 1),
    "a vector over a neighbour's word": (
        "shr.u32 %r1, %t, 1; shl.b32 %r1, %r1, 3; add.u32 %r1, %r1, %s; and.b32 %r2, %t, 1; setp.eq.u32 %p, %r2, 0; "
        "st.shared.u32 [%mine], %t; {fix} @%p ld.shared.v2.u32 {{%r3, %r4}}, [%r1];", "bar.warp.sync -1;", 32, 1),
    "blocks write one word": ("{fix} @%first st.global.u32 [%g], %b;", "|setp.ne.u32 %p, %b, 0; @%p ret;", 32, 2),
    "the guess of a loop round cas, its address written otherwise": (
        "add.u64 %d1, %g, 8; {fix} " + CAS_LOOP, "ld.global.u32 %r9, [%g+8]; ld.global.u32 %r1, [%g+8];|"
        "mov.u64 %d2, %d1; ld.global.u32 %r9, [%d2]; mov.b32 %r1, %r9;", 64, 1),
    "the guess of a loop round cas in a function": (
        "add.u64 %d1, %g, 8; mov.u64 %d2, %d1; {fix} " + CAS_LOOP.replace(
            "atom.global.cas.b32 %r3, [%d1], %r1, %r2",
            "{{ .param .b64 p0; st.param.b64 [p0], %d2; .param .b32 p1; st.param.b32 [p1], %r1; .param .b32 p2; "
            "st.param.b32 [p2], %r2; .param .b32 q; call.uni (q), exchange, (p0, p1, p2); ld.param.b32 %r3, [q]; }}"),
        "ld.global.u32 %r9, [%g+8]; ld.global.u32 %r1, [%g+8];|ld.global.u32 %r1, [%g+8];", 64, 1),
    "blocks add to one word": ("{fix}", "ld.global.u32 %r1, [%g]; add.u32 %r1, %r1, 1; st.global.u32 [%g], %r1;|"
                               "red.global.add.u32 [%g], 1;", 1, 2),
    "atomics of a block's scope": ("red.relaxed.{fix}.global.add.u32 [%g], 1;", "cta|gpu", 1, 2),
    "a flag without fences": (FLAG, ("@%first st.relaxed.gpu.global.u32 [%f], 1;|"
                                     "fence.acq_rel.gpu; @%first st.relaxed.gpu.global.u32 [%f], 1;",
                                     "ld.relaxed.gpu.global.u32 %r2, [%f];", "|fence.acq_rel.gpu;"), 32, 2),
    "elect.sync publishes no writes of other lanes": (
        "@!%warp0 bra C; st.shared.u32 [%mine], %t; {fix} @%lead st.release.cta.global.u32 [%f], 1; ret;"
        " C: L: ld.acquire.cta.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L; ld.shared.u32 %r3, [%mine+-128];",
        "elect.sync %r9¦%p, -1;|bar.warp.sync -1;", 64, 1),
    "a word that lanes have read before elect.sync": (
        "@!%warp0 bra C; ld.shared.u32 %r3, [%mine]; {fix} @%lead st.release.cta.global.u32 [%f], 1; ret;"
        " C: L: ld.acquire.cta.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L; st.shared.u32 [%mine+-128], %t;",
        "|elect.sync %r9¦%p, -1;", 64, 1),
    "a lane that has waited tells no others by elect.sync": (
        "@%warp0 bra W; st.shared.u32 [%mine], %t; bar.warp.sync -1; @%lead st.release.cta.global.u32 [%f], 1; ret;"
        " W: @!%lead bra N; L: ld.acquire.cta.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L;"
        " N: {fix} ld.shared.u32 %r3, [%mine+128];", "elect.sync %r9¦%p, -1;|bar.warp.sync -1;", 64, 1),
    "what a lane has acquired goes on with a shuffle": (
        "@%warp0 bra W; st.shared.u32 [%mine], %t; bar.warp.sync -1; @%lead st.release.cta.global.u32 [%f], 1; ret;"
        " W: @!%lead bra N; L: ld.acquire.cta.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L;"
        " N: {fix} ld.shared.u32 %r3, [%mine+128];", "|shfl.sync.idx.b32 %r2, %r2, 0, 31, -1;", 64, 1),
    "what a lane has acquired goes on with a vote, for a fence of the others": (
        "@%warp0 bra W; st.shared.u32 [%mine], %t; bar.warp.sync -1; @%lead st.release.cta.global.u32 [%f], 1; ret;"
        " W: @!%lead bra N; L: ld.relaxed.cta.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L;"
        " N: vote.sync.any.pred %p, 1, -1; {fix} ld.shared.u32 %r3, [%mine+128];", "|fence.acq_rel.cta;", 64, 1),
    "a shuffle publishes no writes of other lanes": (
        "@!%warp0 bra C; st.shared.u32 [%mine], %t; {fix} @%lead st.release.cta.global.u32 [%f], 1; ret;"
        " C: L: ld.acquire.cta.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L; ld.shared.u32 %r3, [%mine+-128];",
        "shfl.sync.idx.b32 %r2, %t, 0, 31, -1;|bar.warp.sync -1;", 64, 1),
    "a word that lanes have read before a shuffle": (
        "ld.shared.u32 %r1, [%next]; {fix} st.shared.u32 [%mine], %r1;", "|shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;", 32, 1),
    "a word that lanes read after a shuffle": (
        "shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; ld.shared.u32 %r1, [%next]; {fix} st.shared.u32 [%mine], %r1;",
        "|vote.sync.all.pred %p, 1, -1;", 32, 1),
    "a word that lanes of another half have read": (
        "ld.shared.u32 %r1, [%next]; setp.lt.u32 %p, %t, 16; {fix} st.shared.u32 [%mine], %r1;",
        "selp.b32 %r2, 65535, -65536, %p; shfl.sync.bfly.b32 %r1, %r1, 1, 0x101f, %r2;|"
        "shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;", 32, 1),
    "a load that may not see the launch": ("st.global.u32 [%gt], %t; bar.sync 0; ld.global.{fix}u32 %r1, [%gn];", "nc.|", 64, 1),
    "an own word by a load that may not see the launch": ("st.global.u32 [%gt], %t; ld.global.{fix}u32 %r1, [%gt];", "nc.|", 64, 1),
    "a flag of a cluster's scope": (FLAG, ("@%first st.release.cluster.global.u32 [%f], 1;|"
                                           "@%first st.release.gpu.global.u32 [%f], 1;",
                                           "ld.acquire.gpu.global.u32 %r2, [%f];", ""), 32, 2),
    "a fence of a cluster's scope": (FLAG, ("fence.acq_rel.cluster; @%first st.relaxed.gpu.global.u32 [%f], 1;|"
                                            "fence.acq_rel.gpu; @%first st.relaxed.gpu.global.u32 [%f], 1;",
                                            "ld.acquire.gpu.global.u32 %r2, [%f];", ""), 32, 2),
    "an acquire of a cluster's scope": (FLAG, ("@%first st.release.gpu.global.u32 [%f], 1;",
                                               "ld.acquire.cluster.global.u32 %r2, [%f];|"
                                               "ld.acquire.gpu.global.u32 %r2, [%f];", ""), 32, 2),
    "atomics of a cluster's scope": ("red.relaxed.{fix}.global.add.u32 [%g], 1;", "cluster|gpu", 1, 2),
    "a flag of a block's scope": (FLAG, ("@%first st.release.cta.global.u32 [%f], 1;|"
                                         "@%first st.release.gpu.global.u32 [%f], 1;",
                                         "ld.acquire.gpu.global.u32 %r2, [%f];", ""), 32, 2),
    "a flag that only its reader orders": (FLAG, ("membar.gl; @%first st.volatile.global.u32 [%f], 1;",
                                                  "ld.volatile.global.u32 %r2, [%f];", "|membar.gl;"), 32, 2),
    "a flag before the block's barrier": (
        "setp.ne.u32 %q, %b, 0; @%q bra C; st.global.u32 [%gt], 7; {fix} @%first st.release.gpu.global.u32 [%f], 1; "
        "ret; C: L: ld.acquire.gpu.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L; ld.global.u32 %r3, [%gn];",
        "bar.sync 0;", 64, 2),
    "what one thread acquired, before the block's barrier": (
        "setp.ne.u32 %q, %b, 0; @%q bra C; st.global.u32 [%gt], 7; bar.sync 0; @%first st.release.gpu.global.u32 [%f], "
        "1; ret; C: @!%first bra D; L: ld.acquire.gpu.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L; "
        "D: {fix} ld.global.u32 %r3, [%gn];", "|bar.sync 0;", 64, 2),
    "a lock": ("L: atom.global.cas.b32 %r1, [%f], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra L; {fix} ld.global.u32 %r2, "
               "[%g]; add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2; {fix} atom.global.exch.b32 %r1, [%f], 0;",
               "fence.acq_rel.gpu;", 1, 3),
    "a last block that sums": (
        "mul.wide.u32 %d1, %b, 4; add.u64 %d1, %g, %d1; st.global.u32 [%d1], %b; {fix} "
        "atom.global.add.u32 %r1, [%f], 1; {fix} setp.ne.u32 %p, %r1, 3; @%p ret; ld.global.v4.u32 {{%r2, %r3, %r4, "
        "%r5}}, [%g];", "membar.gl;", 1, 4),
    "a named barrier of half the block": (
        "st.shared.u32 [%mine], %t; setp.ge.u32 %p, %t, 64; @%p ret; {fix} xor.b32 %r1, %t, 32; "
        "mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];", "|bar.sync 1, 64;", 128, 1),
    "a named barrier of the others": (
        "st.shared.u32 [%mine], %t; shr.u32 %r3, %t, {fix}; add.u32 %r3, %r3, 1; bar.sync %r3, 64; xor.b32 %r1, %t, "
        "32; mad.lo.u32 %r1, %r1, 4, %s; ld.shared.u32 %r2, [%r1];",
        "5; and.b32 %r3, %r3, 1; mov.b32 %r3, %r3|6", 128, 1),
    "an arrival before the write": (
        "@!%warp0 bra C; {fix} ret; C: bar.sync 1, 64; sub.u32 %r1, %mine, 128; ld.shared.u32 %r2, [%r1];",
        "bar.arrive 1, 64; st.shared.u32 [%mine], %t;|st.shared.u32 [%mine], %t; bar.arrive 1, 64;", 64, 1),
    "an mbarrier": (
        "@%first mbarrier.init.shared.b64 [%s], 32; bar.sync 0; st.shared.u32 [%mine+64], %t; "
        "{fix} ld.shared.u32 %r2, [%next+64];",
        "mbarrier.arrive.shared.b64 %d1, [%s];|mbarrier.arrive.shared.b64 %d1, [%s]; W: mbarrier.try_wait.shared.b64 "
        "%p, [%s], %d1; @!%p bra W;", 32, 1),
    "a copy that nobody waits for": (
        "mul.lo.u32 %r1, %t, 4; cp.async.ca.shared.global [%mine], [%gt], 4; {fix} bar.sync 0; ld.shared.u32 %r1, "
        "[%next];",
        "|cp.async.wait_all;", 32, 1),
    "a copy that its own thread does not wait for": (
        "cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.commit_group; {fix} ld.shared.u32 %r1, [%mine];",
        "|cp.async.wait_group 0;", 32, 1),
    "a copy without the block's barrier": (
        "cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.wait_all; {fix} ld.shared.u32 %r1, [%next];",
        "bar.sync 0;", 64, 1),
    "a copy over what others still read": (
        "st.shared.u32 [%mine], %t; bar.sync 0; ld.shared.u32 %r1, [%next]; {fix} "
        "cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.wait_all;", "bar.sync 0;", 64, 1),
    "lanes that are predicated off": ("setp.lt.u32 %p, %t, {fix}; @%p st.shared.u32 [%s], %t;", "2|1", 32, 1),
    "generic addresses": (
        "cvt.u64.u32 %d1, %mine; cvta.shared.u64 %d1, %d1; st.u32 [%d1], %t; {fix} ld.shared.u32 %r1, [%next];",
        "bar.sync 0;", 64, 1),
    "a view of the same memory": ("st.global.u32 [%gt], %t; {fix} ld.global.u32 %r1, [%f];", "|bar.sync 0;", 64, 1),
    "threads that left": ("st.shared.u32 [%mine], %t; setp.eq.u32 %p, %t, 5; @%p ret; {fix} ld.shared.u32 %r1, "
                          "[%next];",
                          "bar.sync 0;", 64, 1),
    "a barrier in one branch": (
        "st.shared.u32 [%mine], %t; @%warp0 bra A; bar.sync 1, 32; {fix} bra B; A: bar.sync 2, 32; {fix} B: "
        "ld.shared.u32 %r1, [%next];", "bar.sync 0;", 64, 1),
}  # fmt: skip


def texts(name: str) -> tuple[str, str, int, int]:
    """The racy kernel, the right one, threads and blocks."""
    body, fix, threads, blocks = PAIRS[name]
    names, rows = (("release", "acquire", "after"), fix) if isinstance(fix, tuple) else (("fix",), (fix,))
    found = []
    for which in (0, -1):
        parts = {name: row.split("|")[which] for name, row in zip(names, rows)}
        if "|" not in rows[0] and len(rows) == 1 and which == 0:
            parts["fix"] = ""
        found.append(HEAD + body.format(**parts).replace("¦", "|") + "\nE: ret;\n}\n" + EXCHANGE)
    return (*found, threads, blocks)


def outcome(
    ptx: str, threads: int, blocks: int, seed: int = 0, large: bool = False, checks=("race",), cluster: int = 1
):
    """The Fault of a launch, or None. Both pointers are of one array; `large` compiles as for a large launch."""
    x = np.zeros(512, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(ptx)
    flag = x.ctypes.data + (0 if "view" in ptx else 1024)
    if large:
        program = emulator.Program(ptx)
        program._few = lambda *_: False
    try:
        emulator.launch(
            program,
            "k",
            (blocks, 1, 1),
            (threads, 1, 1),
            [a.to_bytes(8, "little") for a in (x.ctypes.data, flag)],
            memory,
            seed=seed,
            checks=checks,
            cluster=(cluster, 1, 1),
        )
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_the_racy_one_of_a_pair_is_found(name):
    racy, right, threads, blocks = texts(name)
    if name == "a view of the same memory":
        racy, right = racy + "// view", right + "// view"
    for seed in (0, 1, 2):
        found = outcome(racy, threads, blocks, seed)
        assert found is not None and found.kind == "race", (name, seed)
        none = outcome(right, threads, blocks, seed)
        assert none is None, f"{name}, seed {seed}\n{none}"
    assert outcome(racy, threads, blocks, large=True).kind == "race"
    assert outcome(right, threads, blocks, large=True) is None


@pytest.mark.parametrize("name", PAIRS)
def test_a_kernel_is_not_stopped_where_nobody_asks(name):
    _, right, threads, blocks = texts(name)
    assert outcome(right, threads, blocks, checks=()) is None


@pytest.mark.parametrize(
    "body, threads, blocks",
    [
        ("st.global.u32 [%g], 5;", 32, 1),
        ("@%lead st.shared.u32 [%s], 5;", 128, 1),
        ("@%first st.global.u32 [%g], 1;", 32, 3),
        ("st.global.v4.u32 [%g], {1, 2, 3, 4};", 64, 1),
        ("mov.u32 %r1, 9; cvt.u16.u32 %h, %r1; st.global.u8 [%g+1], %h;", 32, 1),
        (
            "mov.u32 %r5, 0; L: st.global.u32 [%g], %r5; bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 3; @%p bra L;",
            64,
            1,
        ),
        ("st.global.u32 [%gt], 7; cp.async.ca.shared.global [%s], [%gt], 4;", 64, 1),
        ("cp.async.ca.shared.global [%s], [%gt], 8, 0; cp.async.wait_all;", 64, 1),
        (  # other copies on their way go elsewhere
            "st.global.u32 [%gt], 7; cp.async.ca.shared.global [%mine+512], [%gt], 4; "
            "cp.async.ca.shared.global [%s], [%gt], 4;",
            64,
            1,
        ),
    ],
)
def test_the_same_value_from_one_line_is_a_note_and_no_race(body, threads, blocks):
    ptx = HEAD + body + "\nE: ret;\n}\n"
    for seed in (0, 1, 2):
        with pytest.warns(emulator.SameValueRace, match=r"^RACE_SAME_VALUE: in `k` .* write the same value to "):
            assert outcome(ptx, threads, blocks, seed) is None, (body, seed)


# Lane 1 writes, lane 0 hears of it, and lane 2 hears of lane 0 by elect.sync, which gives no order of memory.
RELAYED = """
  setp.eq.u32 %p, %t, 1; @%p st.shared.u32 [%s], 5;
  setp.lt.u32 %p, %t, 2; @!%p bra A; bar.warp.sync 3; {first}
A: setp.eq.u32 %p, %t, 1; @%p bra E; setp.gt.u32 %p, %t, 2; @%p bra E; elect.sync %r4|%q, 5;
  @%first bra E; {last}
E: ret;
}}
"""
READS = "@%first ld.shared.u32 %r3, [%s]; @%first st.global.u32 [%g], %r3;"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_write_after_a_read_comes_after_what_that_read(seed):
    overwrites = "st.shared.u32 [%s], 6;"
    assert outcome(HEAD + RELAYED.format(first=READS, last=overwrites), 32, 1, seed) is None
    for first, last in [("", overwrites), (READS, "ld.shared.u32 %r5, [%s]; st.global.u32 [%g+4], %r5;")]:
        fault = outcome(HEAD + RELAYED.format(first=first, last=last), 32, 1, seed)
        assert fault is not None and fault.kind == "race", (first, last)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "body",
    [
        "st.global.u32 [%gt], %t; cp.async.ca.shared.global [%s], [%gt], 4;",
        "st.global.u32 [%gt], %t; cp.async.ca.shared.global [%s], [%gt], 4; cp.async.wait_all;",
        "st.global.u32 [%gt], 7; and.b32 %r1, %t, 4; cp.async.ca.shared.global [%s], [%gt], 4, %r1;",
        "cp.async.ca.shared.global [%s], [%gt], 4; cp.async.ca.shared.global [%s], [%gt], 4;",
        "cp.async.ca.shared.global [%s], [%gt], 4; st.shared.u32 [%s], 0;",
    ],
)
def test_copies_of_two_values_or_from_two_instructions_are_a_race(body, seed):
    fault = outcome(HEAD + body + "\nret;\n}\n", 64, 1, seed)
    assert fault is not None and fault.kind == "race"


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "size, scope, blocks", [(2, "cluster", 2), (2, "cta", 2), (1, "cluster", 2), (2, "cluster", 4)]
)
def test_a_scope_of_the_cluster_holds_in_the_cluster_of_the_launch(size, scope, blocks, seed):
    """Also if no instruction of the kernel needs the blocks of a cluster to run together."""
    body = f"""
  setp.eq.u32 %q, %b, {blocks - 1}; @%q bra C; setp.ne.u32 %q, %b, 0; @%q bra E;
  @%first st.global.u32 [%g], 7; @%first st.release.{scope}.global.u32 [%f], 1; ret;
C: ld.acquire.cluster.global.u32 %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra C; ld.global.u32 %r3, [%g];
E: ret;
}}
"""
    fault = outcome(HEAD + body, 32, blocks, seed, cluster=size)
    is_right = (size, scope, blocks) == (2, "cluster", 2)
    assert fault is None if is_right else fault is not None and fault.kind == "race", str(fault)


TILE = """.reg .b32 %v, %row; .shared .align 16 .b8 tile[128];
and.b32 %row, %r0, 7; shl.b32 %row, %row, 4; mov.u32 %v, tile; add.u32 %row, %row, %v;
mov.u32 %v, VALUE; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {%v};
"""


@pytest.mark.parametrize("value", ["7", "%r0"])
def test_warps_that_store_the_same_tile(value):
    """As Triton's spare warps do."""
    ptx = HEAD + TILE.replace("VALUE", value) + "E: ret;\n}\n"
    for seed in (0, 1, 2):
        if value == "7":
            with pytest.warns(emulator.SameValueRace):
                assert outcome(ptx, 64, 1, seed) is None
        else:
            fault = outcome(ptx, 64, 1, seed)
            assert fault is not None and fault.kind == "race" and "stmatrix" in str(fault)
    assert outcome(ptx, 32, 1) is None


def test_a_note_names_both_threads_and_the_place():
    with pytest.warns(emulator.SameValueRace) as caught:
        assert outcome(HEAD + "st.global.u32 [%g+4], 5;\nE: ret;\n}\n", 2, 1) is None
    assert str(caught[0].message) == (
        "RACE_SAME_VALUE: in `k` thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0) and thread (1, 0, "
        "0) = warp 0, lane 1 of block (0, 0, 0) write the same value to `x[1]` without an order. PTX "
        "calls that a race; it does no harm while the values are the same"
    )


def test_a_race_shows_both_accesses_with_their_lines(tmp_path):
    source = tmp_path / "k.py"
    source.write_text("\n" * 6 + "    s[t] = t\n\n    out[t] = s[n - 1 - t]\n")
    body = """
  .loc 1 7 5
  st.shared.u32 [%mine], %t;
  .loc 1 9 14
  ld.shared.u32 %r1, [%next];
"""
    fault = outcome(HEAD + body + f'ret;\n}}\n.file 1 "{source}"\n', 64, 1)
    assert (fault.kind, fault.place.line, fault.thread, fault.block) == ("race", 7, (1, 0, 0), (0, 0, 0))
    assert (
        str(fault).replace(f"{source}", "k.py")
        == """\
k.py:7:5: RACE
    s[t] = t
    ^ writes smem+0x4, which another thread read at line 9: no barrier between
    in `k`, 4 bytes of smem+0x4
    writes   thread (1, 0, 0) = warp 0, lane 1 of block (0, 0, 0): k.py:7, PTX line 18: st.shared.u32 [%mine], %t;
    read     thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): k.py:9, PTX line 20: ld.shared.u32 %r1, [%next];
fix: put a barrier of the block (bar.sync) between line 7 and line 9"""
    )


# ** programs by chance, against an order worked out event by event

WIDTHS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
REGISTER = {1: "%h", 2: "%h", 4: "%r3", 8: "%d2"}
THREADS = 96


@st.composite
def accesses(draw):
    """(what, width, stride, offset, first thread, threads): thread t touches byte width *
    ((t * stride + offset) % 8)."""
    what = draw(st.sampled_from(["ld", "st", "ld.volatile", "st.volatile", "red"]))
    width = 4 if what == "red" else draw(st.sampled_from([4, 4, 4, 1, 2, 8]))
    first = draw(st.sampled_from([0, 1, 31, 32, 63, 64, 95]))
    return what, width, draw(st.integers(0, 2)), draw(st.integers(0, 7)), first, draw(st.integers(1, 3) | st.just(96))


STEPS = st.one_of(
    accesses(), accesses(), accesses(),
    st.sampled_from([("bar", 0), ("bar", 1), ("warp", -1), ("warp", 0xFFFF), ("named", 0), ("named", 1),
                     ("arrive", 0)]),
)  # fmt: skip


def ptx_of(steps) -> str:
    lines = []
    for i, step in enumerate(steps):
        if step[0] == "bar":
            lines.append(f"bar.sync {step[1]};")
        elif step[0] == "warp":
            lines.append(
                "bar.warp.sync -1;"
                if step[1] == -1
                else "setp.lt.u32 %p, %lane, 16; selp.b32 %r2, 65535, -65536, %p; bar.warp.sync %r2;"
            )
        elif step[0] == "named":  # warps 0 and 1, or 1 and 2, meet
            lines.append(
                f"sub.u32 %r2, %w, {step[1]}; setp.lt.u32 %p, %r2, 2; @!%p bra N{i}; bar.sync {3 + i}, 64; N{i}:"
            )
        elif step[0] == "arrive":  # warp 2 waits for warp 0, which goes on
            lines.append(
                f"@!%warp0 bra A{i}; bar.arrive {3 + i}, 64; A{i}: setp.eq.u32 %p, %w, 2; @!%p bra B{i}; "
                f"bar.sync {3 + i}, 64; B{i}:"
            )
        else:
            what, width, stride, offset, first, count = step
            opcode, *strong = what.split(".")
            text = f"{opcode}{'.volatile' if strong else ''}.shared.{'add.' if opcode == 'red' else ''}{WIDTHS[width]}"
            operands = f"{REGISTER[width]}, [%r2]" if opcode == "ld" else f"[%r2], {REGISTER[width]}"
            own = f"cvt.u{max(8 * width, 16)}.u32 {REGISTER[width]}, %t; " if opcode == "st" else ""  # its own value
            lines.append(
                f"{own}mad.lo.u32 %r2, %t, {stride}, {offset}; and.b32 %r2, %r2, 7; mad.lo.u32 %r2, %r2, {width}, "
                f"%s; sub.u32 %r4, %t, {first}; setp.lt.u32 %p, %r4, {count};\n @%p {text} {operands};"
            )
    return HEAD + "\n".join(lines) + "\nret;\n}\n"


def races_of(steps) -> set:
    """Every pair of (thread, step) that race, from sets of events that each thread knows to be over."""
    knows = [set() for _ in range(THREADS)]
    over, pairs = {}, set()  # byte -> [(event, writes, strong)]

    def meet(threads, more=()):
        everything = set().union(*(knows[t] for t in threads), *more)
        for t in threads:
            knows[t] = set(everything)

    for i, step in enumerate(steps):
        if step[0] == "bar":
            meet(range(THREADS))
        elif step[0] == "warp":
            for first in range(0, THREADS, 32 if step[1] == -1 else 16):
                meet(range(first, first + (32 if step[1] == -1 else 16)))
        elif step[0] == "named":
            meet(range(32 * step[1], 32 * step[1] + 64))
        elif step[0] == "arrive":
            meet(range(64, 96), [knows[t] for t in range(32)])
        else:
            what, width, stride, offset, first, count = step
            writes, strong = what[:2] != "ld", what not in ("ld", "st")
            for t in range(first, min(first + count, THREADS)):
                start = (t * stride + offset & 7) * width
                for byte in range(start, start + width):
                    for (other, j), its_writes, its_strong in over.get(byte, ()):
                        clash = (writes or its_writes) and not (strong and its_strong)
                        if clash and other != t and (other, j) not in knows[t]:
                            pairs.add(frozenset([(t, i), (other, j)]))
                for byte in range(start, start + width):
                    over.setdefault(byte, []).append(((t, i), writes, strong))
                knows[t].add((t, i))
    return pairs


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(steps=st.lists(STEPS, min_size=2, max_size=7), seed=st.sampled_from([0, 0, 7]))
@example([("st.volatile", 4, 1, 0, 0, 96), ("ld", 4, 0, 0, 0, 1), ("red", 4, 0, 0, 0, 96)], 7)  # two lines of one kind
def test_random_programs_race_if_accesses_have_no_order(steps, seed):
    ptx = ptx_of(steps)
    pairs, fault = races_of(steps), outcome(ptx, THREADS, 1, seed)
    if not pairs:
        assert fault is None, str(fault)
        return
    assert fault is not None, sorted(map(sorted, pairs))[:3]
    lines = ptx.split("\n")
    at = [
        sum("@%p" in each and "shared" in each for each in lines[: int(n) - 1])
        for n in re.findall(r"PTX line (\d+): @", str(fault))
    ]
    steps_with_access = [i for i, step in enumerate(steps) if len(step) == 6]
    threads = [int(n) for n in re.findall(r"thread \((\d+), 0, 0\) =", str(fault))]
    assert frozenset(zip(threads, (steps_with_access[n] for n in at))) in pairs, str(fault)
