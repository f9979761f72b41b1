// SIMD video intrinsics, each against a loop over the lanes of a word.
#include <algorithm>
#include "check.h"

#define PAIRS(F) \
  F(add) F(addss) F(addus) F(sub) F(subss) F(subus) F(avgs) F(avgu) F(haddu) F(maxs) F(maxu) F(mins) F(minu) F(absdiffs) F(absdiffu) \
  F(seteq) F(setges) F(setgeu) F(setgts) F(setgtu) F(setles) F(setleu) F(setlts) F(setltu) F(setne) \
  F(cmpeq) F(cmpges) F(cmpgeu) F(cmpgts) F(cmpgtu) F(cmples) F(cmpleu) F(cmplts) F(cmpltu) F(cmpne) F(sads) F(sadu)
#define COUNT(f) +1
constexpr int N = 0 PAIRS(COUNT);

__global__ void k(const unsigned *a, const unsigned *b, unsigned *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned *r = o + i * (2 * N + 8), x = a[i], y = b[i];
#define BOTH(f) *r++ = __v##f##2(x, y), *r++ = __v##f##4(x, y);
  PAIRS(BOTH)
  *r++ = __vabs2(x), *r++ = __vabs4(x), *r++ = __vabsss2(x), *r++ = __vabsss4(x);
  *r++ = __vneg2(x), *r++ = __vneg4(x), *r++ = __vnegss2(x), *r++ = __vnegss4(x);
}

static long lane_of(const char *f, long s, long t, long u, long v, int width) {
  long low = -(1l << (width - 1)), high = -low - 1, top = (1l << width) - 1;
  auto is = [&](const char *name) { return !strcmp(f, name); };
  auto clamp = [](long x, long l, long h) { return x < l ? l : x > h ? h : x; };
  if (is("add")) return u + v;
  if (is("addss")) return clamp(s + t, low, high);
  if (is("addus")) return clamp(u + v, 0, top);
  if (is("sub")) return u - v;
  if (is("subss")) return clamp(s - t, low, high);
  if (is("subus")) return clamp(u - v, 0, top);
  if (is("avgs")) return (s + t + (s + t >= 0)) >> 1;  // PTX ISA, vavrg2
  if (is("avgu")) return (u + v + 1) >> 1;
  if (is("haddu")) return (u + v) >> 1;
  if (is("maxs")) return std::max(s, t);
  if (is("maxu")) return std::max(u, v);
  if (is("mins")) return std::min(s, t);
  if (is("minu")) return std::min(u, v);
  if (is("absdiffs")) return labs(s - t);
  if (is("absdiffu")) return labs(u - v);
  bool sign = f[strlen(f) - 1] == 's';
  long p = sign ? s : u, q = sign ? t : v;
  const char *c = f + 3;
  bool yes = !strncmp(c, "eq", 2)   ? u == v
             : !strncmp(c, "ne", 2) ? u != v
             : !strncmp(c, "ge", 2) ? p >= q
             : !strncmp(c, "gt", 2) ? p > q
             : !strncmp(c, "le", 2) ? p <= q
                                    : p < q;
  return yes ? (!strncmp(f, "set", 3) ? 1 : top) : 0;
}
static unsigned expected(const char *f, unsigned a, unsigned b, int lanes) {
  int width = 32 / lanes;
  unsigned mask = (1u << width) - 1, r = 0;
  for (int i = 0; i < lanes; i++) {
    long u = a >> i * width & mask, v = b >> i * width & mask;
    long s = (long)(u << (64 - width)) >> (64 - width), t = (long)(v << (64 - width)) >> (64 - width);
    if (!strcmp(f, "sads")) r += labs(s - t);
    else if (!strcmp(f, "sadu")) r += labs(u - v);
    else if (!strcmp(f, "abs")) r |= (labs(s) & mask) << i * width;
    else if (!strcmp(f, "absss")) r |= (std::min(labs(s), (long)mask >> 1) & mask) << i * width;
    else if (!strcmp(f, "neg")) r |= (-s & mask) << i * width;
    else if (!strcmp(f, "negss")) r |= (std::min(-s, (long)mask >> 1) & mask) << i * width;
    else r |= (lane_of(f, s, t, u, v, width) & mask) << i * width;
  }
  return r;
}
int main() {
  const int n = 2000;
  auto a = managed<unsigned>(n), b = managed<unsigned>(n), o = managed<unsigned>(n * (2 * N + 8));
  unsigned seed = 3, edges[] = {0, 0x80008000, 0x7fff7fff, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x00010001, 0x80017ffe};
  for (int i = 0; i < n; i++) {
    a[i] = seed = seed * 1664525 + 1013904223, b[i] = (seed = seed * 1664525 + 1013904223) ^ seed >> 15;
    if (i < 64) a[i] = edges[i / 8], b[i] = edges[i % 8];
  }
  k<<<16, 128>>>(a, b, o, n);
  CUDA(cudaDeviceSynchronize());
  int bad[2 * N + 8] = {};
  for (int i = 0; i < n; i++) {
    unsigned *r = o + i * (2 * N + 8);
    int which = 0;
    auto same = [&](const char *f, int lanes) {
      unsigned e = expected(f, a[i], b[i], lanes), got = *r++;
      if (e != got && bad[which]++ < 2)
        printf("__v%s%d(%08x, %08x): %08x, want %08x\n", f, lanes, a[i], b[i], got, e), wrong++;
      which++;
    };
#define SAME(f) same(#f, 2), same(#f, 4);
    PAIRS(SAME)
    same("abs", 2), same("abs", 4), same("absss", 2), same("absss", 4);
    same("neg", 2), same("neg", 4), same("negss", 2), same("negss", 4);
  }
  return verdict();
}
