"""Kernels whose lanes meet, or add to memory that many threads share, and the same loops in C.

`emulator.py` runs them. The PTX has the shape that nvcc 13.0 gives such CUDA: loops that stride over the grid, a
partial result a warp in shared memory.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

_STRIDE = """  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x; mov.u32 %g, %nctaid.x; mov.u32 %full, -1;
  mad.lo.s32 %i, %b, %d, %t; mul.lo.s32 %step, %g, %d;"""
_REGISTERS = """  .reg .b32 %t, %b, %d, %g, %i, %step, %n, %lane, %at, %w, %v, %full, %k; .reg .f32 %s, %x, %m, %e;
  .reg .b64 %px, %out, %off, %a; .reg .pred %p, %q, %r, %u;"""


def _exchange(name: str, how: str, combine: str) -> str:
    """Five shuffles after which lane 0, or each lane, has the combination of all 32."""
    steps = (
        f"mov.b32 %v, {name}; shfl.sync.{how}.b32 %w|%r, %v, {distance}, 31, %full; mov.b32 %x, %w; "
        f"{combine}.f32 {name}, {name}, %x;"
        for distance in (16, 8, 4, 2, 1)
    )
    return "  " + "\n  ".join(steps)


REDUCE = f""".visible .entry reduce(.param .u64 px, .param .u64 out, .param .u32 n)
{{
  .shared .align 4 .b8 part[128];
{_REGISTERS}
{_STRIDE}
  ld.param.u64 %px, [px]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n]; mov.f32 %s, 0f00000000;
  setp.ge.s32 %p, %i, %n; @%p bra SUMMED;
NEXT:
  mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off; ld.global.f32 %x, [%a]; add.f32 %s, %s, %x;
  add.s32 %i, %i, %step; setp.lt.s32 %p, %i, %n; @%p bra NEXT;
SUMMED:
{_exchange("%s", "down", "add")}
  and.b32 %lane, %t, 31; setp.ne.s32 %p, %lane, 0; @%p bra KEPT;
  shr.u32 %at, %t, 3; and.b32 %at, %at, 536870908; mov.u32 %w, part; add.s32 %at, %w, %at; st.shared.f32 [%at], %s;
KEPT:
  bar.sync 0; setp.gt.u32 %q, %t, 31; @%q bra DONE;
  shr.u32 %w, %d, 5; setp.ge.u32 %q, %t, %w; mov.f32 %s, 0f00000000; @%q bra READ;
  shl.b32 %at, %t, 2; mov.u32 %w, part; add.s32 %at, %w, %at; ld.shared.f32 %s, [%at];
READ:
{_exchange("%s", "down", "add")}
  setp.ne.s32 %p, %t, 0; @%p bra DONE;
  mul.wide.u32 %off, %b, 4; add.s64 %out, %out, %off; st.global.f32 [%out], %s;
DONE:
  ret;
}}
"""

HISTOGRAM = f""".visible .entry histogram(.param .u64 px, .param .u64 out, .param .u32 n)
{{
  .shared .align 4 .b8 bins[1024];
{_REGISTERS}
{_STRIDE}
  ld.param.u64 %px, [px]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];
  shl.b32 %lane, %t, 2; mov.u32 %w, bins; add.s32 %lane, %w, %lane; mov.u32 %v, 0; st.shared.u32 [%lane], %v;
  bar.sync 0; setp.ge.s32 %p, %i, %n; @%p bra COUNTED;
NEXT:
  mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off; ld.global.u32 %v, [%a]; shl.b32 %v, %v, 2; and.b32 %v, %v, 1020;
  add.s32 %at, %w, %v; atom.shared.add.u32 %k, [%at], 1;
  add.s32 %i, %i, %step; setp.lt.s32 %p, %i, %n; @%p bra NEXT;
COUNTED:
  bar.sync 0; mul.wide.u32 %off, %t, 4; add.s64 %a, %out, %off; ld.shared.u32 %v, [%lane];
  atom.global.add.u32 %k, [%a], %v;
  ret;
}}
"""


def _partial(name: str, combine: str, label: str) -> str:
    """Each warp's result into shared memory, and the combination of the eight of a block."""
    reads = (f"ld.shared.f32 %x, [part+{4 * i}]; {combine}.f32 {name}, {name}, %x;" for i in range(1, 8))
    return f"""  setp.ne.s32 %p, %lane, 0; @%p bra {label};
  shr.u32 %at, %t, 3; and.b32 %at, %at, 536870908; mov.u32 %w, part; add.s32 %at, %w, %at; st.shared.f32 [%at], {name};
{label}:
  bar.sync 0; ld.shared.f32 {name}, [part]; {" ".join(reads)}
"""


SOFTMAX = f""".visible .entry softmax(.param .u64 px, .param .u64 out, .param .u32 n)
{{
  .shared .align 4 .b8 part[32];
{_REGISTERS}
{_STRIDE}
  ld.param.u64 %px, [px]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];
  mul.lo.s32 %k, %b, %n; mul.wide.s32 %off, %k, 4; add.s64 %px, %px, %off; add.s64 %out, %out, %off;
  and.b32 %lane, %t, 31; mov.f32 %m, 0fFF800000; mov.u32 %i, %t; setp.ge.s32 %p, %i, %n; @%p bra MOST;
LOOK:
  mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off; ld.global.f32 %x, [%a]; max.f32 %m, %m, %x;
  add.s32 %i, %i, %d; setp.lt.s32 %p, %i, %n; @%p bra LOOK;
MOST:
{_exchange("%m", "bfly", "max")}
{_partial("%m", "max", "MET")}
  mov.f32 %s, 0f00000000; mov.u32 %i, %t; setp.ge.s32 %p, %i, %n; @%p bra SUM;
ADD:
  mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off; ld.global.f32 %x, [%a]; sub.f32 %x, %x, %m;
  mul.f32 %x, %x, 0f3FB8AA3B; ex2.approx.f32 %e, %x; add.f32 %s, %s, %e;
  add.s32 %i, %i, %d; setp.lt.s32 %p, %i, %n; @%p bra ADD;
SUM:
{_exchange("%s", "bfly", "add")}
  bar.sync 0;
{_partial("%s", "add", "ADDED")}
  mov.u32 %i, %t; setp.ge.s32 %p, %i, %n; @%p bra DONE;
DIVIDE:
  mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off; ld.global.f32 %x, [%a]; sub.f32 %x, %x, %m;
  mul.f32 %x, %x, 0f3FB8AA3B; ex2.approx.f32 %e, %x; div.rn.f32 %e, %e, %s; add.s64 %a, %out, %off;
  st.global.f32 [%a], %e; add.s32 %i, %i, %d; setp.lt.s32 %p, %i, %n; @%p bra DIVIDE;
DONE:
  ret;
}}
"""

SHUFFLES = f""".visible .entry shuffles(.param .u64 px, .param .u64 out, .param .u32 n)
{{
{_REGISTERS}
{_STRIDE}
  ld.param.u64 %px, [px]; ld.param.u64 %out, [out]; mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off;
  ld.global.f32 %s, [%a];
{_exchange("%s", "bfly", "add")}
  add.s64 %a, %out, %off; st.global.f32 [%a], %s;
  ret;
}}
"""

CONTENDED = f""".visible .entry contended(.param .u64 px, .param .u64 out, .param .u32 n)
{{
{_REGISTERS}
{_STRIDE}
  ld.param.u64 %px, [px]; ld.param.u64 %out, [out]; mul.wide.s32 %off, %i, 4; add.s64 %a, %px, %off;
  ld.global.u32 %v, [%a]; red.global.OPERATION [%out], %v;
  ret;
}}
"""

C = """
#include <math.h>
#include <stdint.h>
void reduce(const float *x, float *out, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  *out = s;
}
void histogram(const uint32_t *x, uint32_t *out, int n) {
  for (int i = 0; i < n; ++i) ++out[x[i] & 255];
}
void softmax(const float *x, float *y, int n) {
  for (int r = 0; r < n; ++r, x += n, y += n) {
    float m = -INFINITY, s = 0;
    for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]);
    for (int i = 0; i < n; ++i) s += exp2f((x[i] - m) * 1.442695f);
    for (int i = 0; i < n; ++i) y[i] = exp2f((x[i] - m) * 1.442695f) / s;
  }
}
void shuffles(const float *x, float *y, int n) {
  for (int w = 0; w < n; w += 32) {
    float a[32], b[32];
    for (int i = 0; i < 32; ++i) a[i] = x[w + i];
    for (int d = 16; d; d >>= 1) {
      for (int i = 0; i < 32; ++i) b[i] = a[i ^ d];
      for (int i = 0; i < 32; ++i) a[i] += b[i];
    }
    for (int i = 0; i < 32; ++i) y[w + i] = a[i];
  }
}
void add_one(const uint32_t *x, uint32_t *out, int n) {
  for (int i = 0; i < n; ++i) __atomic_fetch_add(out, x[i], __ATOMIC_RELAXED);
}
"""


def peers() -> ctypes.CDLL | None:
    """The C functions, compiled with `gcc -O2 -march=native`; None if there is no gcc."""
    if shutil.which("gcc") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "peers.c"), Path(folder, "peers.so")
        source.write_text(C)
        command = ["gcc", "-O2", "-march=native", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))
