// Instructions that programs write as PTX, and special registers.
#include <cstdint>
#include "check.h"

__global__ void k(unsigned *o, const unsigned *in) {
  unsigned a = in[0], b = in[1], c = in[2], r;
  unsigned *p = o;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("prmt.b32 %0, %1, %2, 0x7531;" : "=r"(r) : "r"(a), "r"(b));
  *p++ = r;
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(1));
  *p++ = r;
  asm("bfe.s32 %0, %1, 5, 9;" : "=r"(r) : "r"(a));
  *p++ = r;
  asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(r) : "r"(a), "r"(b));
  *p++ = r;
  asm("shf.l.wrap.b32 %0, %1, %2, 37;" : "=r"(r) : "r"(a), "r"(b));
  *p++ = r;
  asm("shf.r.clamp.b32 %0, %1, %2, 37;" : "=r"(r) : "r"(a), "r"(b));
  *p++ = r;
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0; }" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0; }" : "=r"(r) : "r"(b), "r"(a), "r"(c));
  *p++ = r;
  asm("mad.lo.cc.u32 %0, %1, %2, %3;\n\tmadc.hi.u32 %0, %1, %2, 0;" : "=&r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("{ .reg .pred p, q; setp.lt.and.u32 p|q, %1, %2, 1; selp.u32 %0, 3, 4, p; @q add.u32 %0, %0, 10; }"
      : "=r"(r)
      : "r"(a), "r"(b));
  *p++ = r;
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(b));
  *p++ = r;
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(a));
  *p++ = r;
  asm("szext.wrap.s32 %0, %1, 11;" : "=r"(r) : "r"(a));
  *p++ = r;
  asm("bmsk.clamp.b32 %0, 3, 7;" : "=r"(r));
  *p++ = r;
  asm("fns.b32 %0, %1, 4, 3;" : "=r"(r) : "r"(a));
  *p++ = r;
  asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("sad.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  *p++ = r;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(300), "r"(-300), "r"(a));
  *p++ = r;
  uint64_t w;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(w) : "r"(a), "r"(b));
  *p++ = w, *p++ = w >> 32;
  asm("{ .reg .b32 lo, hi; mov.b64 {lo, hi}, %1; mov.b64 %0, {hi, lo}; }" : "=l"(w) : "l"(0x1122334455667788ull));
  *p++ = w, *p++ = w >> 32;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(r));
  *p++ = r;
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(r));
  *p++ = r;
  asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(r));
  *p++ = r > 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
  *p++ = r < 132;
  asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(r));
  *p++ = r;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(r));
  *p++ = r;
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(p[0]), "=r"(p[1]) : "l"(in));
  p += 2;
  asm volatile("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(o));
  *p++ = r;
  float f;
  asm("fma.rz.ftz.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(1.0000001f), "f"(3.f), "f"(1e-9f));
  *p++ = __float_as_uint(f);
  asm("ex2.approx.f32 %0, %1;" : "=f"(f) : "f"(3.f));
  *p++ = __float_as_uint(f);
  asm("cvt.rni.sat.f32.f32 %0, %1;" : "=f"(f) : "f"(0.7f));
  *p++ = __float_as_uint(f);
  asm("copysign.f32 %0, %1, %2;" : "=f"(f) : "f"(-1.f), "f"(5.f));
  *p++ = __float_as_uint(f);
  asm("{ .reg .pred p; testp.subnormal.f32 p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "f"(1e-40f));
  *p++ = r;
}
static unsigned byte(unsigned a, unsigned b, int i) { return (unsigned)((((uint64_t)b << 32) | a) >> (8 * i)) & 255; }

int main() {
  auto o = managed<unsigned>(64), in = managed<unsigned>(4);
  unsigned a = in[0] = 0x9abcdef3, b = in[1] = 0x12345678, c = in[2] = 0x0f1e2d3c;
  k<<<1, 1, 256>>>(o, in);
  CUDA(cudaDeviceSynchronize());
  unsigned *p = o;
#define IS(x) do { unsigned e = (unsigned)(x), g = *p++; if (e != g) printf("%s: %x, want %x\n", #x, g, e), wrong++; } while (0)
  IS((a & b) | (~a & c));
  IS(byte(a, b, 1) | byte(a, b, 3) << 8 | byte(a, b, 5) << 16 | byte(a, b, 7) << 24);
  IS(byte(a, b, 1) | byte(a, b, 2) << 8 | byte(a, b, 3) << 16 | byte(a, b, 4) << 24);
  IS((int)(a << 18) >> 23);
  IS((b & ~0xfff00) | (a & 0xfff) << 8);
  IS(b << 5 | a >> 27);
  IS(b);
  int dp = (int)c;
  for (int i = 0; i < 4; i++) dp += (signed char)byte(a, 0, i) * (int)byte(b, 0, i);
  IS(dp);
  IS(c + (a & 0xffff) * byte(b, 0, 0) + (a >> 16) * byte(b, 0, 1));
  IS(((uint64_t)a * b >> 32) + c);
  IS(c + (((uint64_t)a + b) >> 32));
  IS(c - (b < a));
  IS(((uint64_t)a * b + c) >> 32);
  IS(a < b ? 3 : 14);
  IS(28);
  IS(1);
  IS((int)(a << 21) >> 21);
  IS(0x7f << 3);
  int at = 4, left = 3;
  for (;; at++)
    if (a >> at & 1 && --left == 0) break;
  IS(at);
  IS(a);
  IS((unsigned)llabs((long long)(int)a - (int)b) + c);
  IS((127 << 8 | 0x80) | (a & 0) << 16 | a << 16);
  IS((int64_t)(int)a * (int)b);
  IS((int64_t)(int)a * (int)b >> 32);
  IS(0x11223344);
  IS(0x55667788);
  IS(0);
  IS(0);
  IS(1);
  IS(1);
  IS(1);
  IS(256);
  IS(a);
  IS(b);
  IS(1);
  float f = 3.f * 1.0000001f;
  double exact = 3. * (double)1.0000001f + (double)1e-9f;
  f = (float)exact;
  if (f > exact) f = nextafterf(f, 0);
  unsigned bits;
  memcpy(&bits, &f, 4);
  IS(bits);
  IS(0x41000000);
  IS(0x3f800000);
  IS(0xc0a00000);
  IS(1);
  return verdict();
}
