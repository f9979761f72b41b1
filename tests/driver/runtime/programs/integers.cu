// Integer intrinsics against plain C.
#include <cstdint>
#include <limits>
#include "check.h"
struct R {
  unsigned u[40];
  uint64_t l[24];
};
__global__ void k(const uint64_t *a, const uint64_t *b, R *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint64_t x = a[i], y = b[i];
  unsigned s = (unsigned)x, t = (unsigned)y, *u = o[i].u;
  uint64_t *l = o[i].l;
  *u++ = __mulhi((int)s, (int)t), *u++ = __umulhi(s, t), *u++ = __mul24((int)s, (int)t), *u++ = __umul24(s, t);
  *u++ = __sad((int)s, (int)t, 7u), *u++ = __usad(s, t, 7u), *u++ = __hadd((int)s, (int)t),
  *u++ = __rhadd((int)s, (int)t), *u++ = __uhadd(s, t), *u++ = __urhadd(s, t);
  *u++ = __brev(s), *u++ = __popc(s), *u++ = __clz(s), *u++ = __ffs(s), *u++ = __byte_perm(s, t, 0x3715),
  *u++ = __byte_perm(s, t, t & 0x7777);
  *u++ = __funnelshift_l(s, t, t), *u++ = __funnelshift_r(s, t, t), *u++ = __funnelshift_lc(s, t, t % 50),
  *u++ = __funnelshift_rc(s, t, t % 50);
  *u++ = __dp4a((int)s, (int)t, 5), *u++ = __dp4a(s, t, 5u), *u++ = __dp2a_lo((int)s, (int)t, 5),
  *u++ = __dp2a_hi(s, t, 5u);
  *u++ = __popcll(x), *u++ = __clzll(x), *u++ = __ffsll(x), *u++ = __fns(s, t % 32, (int)(t >> 8) % 5);
  *u++ = min((int)s, (int)t), *u++ = max(s, t), *u++ = abs((int)s), *u++ = s / (t | 1),
  *u++ = (unsigned)((int)s % (int)(t | 1));
  *u++ = __byte_perm(s, 0, 0x0123);
  *l++ = __mul64hi(x, y), *l++ = __umul64hi(x, y), *l++ = __brevll(x), *l++ = x / (y | 1),
  *l++ = (uint64_t)((int64_t)x / (int64_t)(y | 1)), *l++ = x % (y | 1),
  *l++ = (uint64_t)((int64_t)x % (int64_t)(y >> 40 | 1));
  unsigned __int128 p = (unsigned __int128)x * y + t;
  *l++ = (uint64_t)p, *l++ = (uint64_t)(p >> 64), *l++ = (uint64_t)((p << (y % 128)) >> 64),
  *l++ = (uint64_t)(p / (x | 3)), *l++ = (uint64_t)((__int128)p >> 100);
  *l++ = llabs((int64_t)x), *l++ = llmin((int64_t)x, (int64_t)y), *l++ = ullmax(x, y), *l++ = x << (y & 63),
  *l++ = (uint64_t)((int64_t)x >> (y & 63));
  *l++ = (uint64_t)__double2ll_rn(__longlong_as_double(x)), *l++ = __double2ull_rz(__longlong_as_double(x)),
  *l++ = (uint64_t)(unsigned)__float2int_rd(__int_as_float(s)), *l++ = __float2uint_ru(__int_as_float(s));
}
static unsigned perm(unsigned a, unsigned b, unsigned sel) {
  uint64_t w = (uint64_t)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= (unsigned)(w >> 8 * (sel >> 4 * i & 7) & 255) << 8 * i;
  return r;
}
static unsigned rev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
static unsigned fns(unsigned m, unsigned base, int off) {
  if (off == 0) return m >> base & 1 ? base : ~0u;
  for (int i = base; i < 32; i++)
    if (m >> i & 1 && --off == 0) return i;
  return ~0u;
}
template <typename I> static I clamped(double x, double low, double high) {
  if (std::isnan(x)) return sizeof(I) == 8 ? (I)(1ull << 63) : 0;
  return x <= low ? std::numeric_limits<I>::min() : x >= high ? std::numeric_limits<I>::max() : (I)x;
}
int main() {
  const int n = 3000;
  auto a = managed<uint64_t>(n), b = managed<uint64_t>(n);
  auto o = managed<R>(n);
  uint64_t seed = 1, edge[] = {0, 1, ~0ull, 1ull << 63, 0x80000000, 0x7fffffff, 0x7fffffffffffffff, 0xffffffff};
  for (int i = 0; i < n; i++) {
    a[i] = seed = seed * 6364136223846793005ull + 1442695040888963407ull, a[i] ^= a[i] >> 29;
    b[i] = seed = seed * 6364136223846793005ull + 1442695040888963407ull, b[i] ^= b[i] >> 31;
    if (i < 64) a[i] = edge[i / 8], b[i] = edge[i % 8];
  }
  k<<<24, 128>>>(a, b, o, n);
  CUDA(cudaDeviceSynchronize());
  int bad[64] = {};
  for (int i = 0; i < n; i++) {
    uint64_t x = a[i], y = b[i];
    unsigned s = x, t = y, w[40], *u = w;
    uint64_t v[24], *l = v;
    int is = s, it = t;
    auto s24 = [](unsigned q) { return (int)(q << 8) >> 8; };
    *u++ = (int64_t)is * it >> 32, *u++ = (uint64_t)s * t >> 32, *u++ = (unsigned)((int64_t)s24(s) * s24(t)),
    *u++ = (s & 0xffffff) * (t & 0xffffff);
    *u++ = (unsigned)llabs((int64_t)is - it) + 7, *u++ = (s > t ? s - t : t - s) + 7, *u++ = ((int64_t)is + it) >> 1,
    *u++ = ((int64_t)is + it + 1) >> 1, *u++ = ((uint64_t)s + t) >> 1, *u++ = ((uint64_t)s + t + 1) >> 1;
    *u++ = rev(s), *u++ = __builtin_popcount(s), *u++ = s ? __builtin_clz(s) : 32, *u++ = __builtin_ffs(s),
    *u++ = perm(s, t, 0x3715), *u++ = perm(s, t, t & 0x7777);
    uint64_t hl = (uint64_t)t << 32 | s;
    *u++ = (hl << (t & 31)) >> 32, *u++ = hl >> (t & 31), *u++ = t % 50 >= 32 ? s : (unsigned)((hl << t % 50) >> 32),
    *u++ = t % 50 >= 32 ? t : (unsigned)(hl >> t % 50);
    int ds = 5;
    unsigned du = 5;
    for (int q = 0; q < 4; q++)
      ds += (int8_t)(s >> 8 * q) * (int8_t)(t >> 8 * q), du += (s >> 8 * q & 255) * (t >> 8 * q & 255);
    *u++ = ds, *u++ = du;
    *u++ = 5u + (int16_t)s * (int8_t)t + (int16_t)(s >> 16) * (int8_t)(t >> 8),
    *u++ = 5u + (s & 0xffff) * (t >> 16 & 255) + (s >> 16) * (t >> 24);
    *u++ = __builtin_popcountll(x), *u++ = x ? __builtin_clzll(x) : 64, *u++ = __builtin_ffsll(x),
    *u++ = fns(s, t % 32, (int)(t >> 8) % 5);
    *u++ = is < it ? is : it, *u++ = s > t ? s : t, *u++ = is < 0 ? -s : s, *u++ = s / (t | 1),
    *u++ = (it | 1) == -1 ? 0 : is % (it | 1);
    *u++ = __builtin_bswap32(s);
    *l++ = (__int128)(int64_t)x * (int64_t)y >> 64, *l++ = (unsigned __int128)x * y >> 64,
    *l++ = (uint64_t)rev(x) << 32 | rev(x >> 32), *l++ = x / (y | 1);
    *l++ = (int64_t)(y | 1) == -1 ? -x : (int64_t)x / (int64_t)(y | 1), *l++ = x % (y | 1),
    *l++ = (int64_t)x % (int64_t)(y >> 40 | 1);
    unsigned __int128 p = (unsigned __int128)x * y + t;
    *l++ = p, *l++ = p >> 64, *l++ = (p << y % 128) >> 64, *l++ = p / (x | 3), *l++ = (__int128)p >> 100;
    *l++ = (int64_t)x < 0 ? -x : x, *l++ = (int64_t)x < (int64_t)y ? x : y, *l++ = x > y ? x : y, *l++ = x << (y & 63),
    *l++ = (int64_t)x >> (y & 63);
    double d;
    memcpy(&d, &x, 8);
    float f;
    memcpy(&f, &s, 4);
    *l++ = clamped<int64_t>(nearbyint(d), -9223372036854775808., 9223372036854775808.),
    *l++ = clamped<uint64_t>(trunc(d), 0, 18446744073709551616.);
    *l++ = (unsigned)clamped<int>(floor((double)f), -2147483648., 2147483647.),
    *l++ = clamped<unsigned>(ceil((double)f), 0, 4294967295.);
    for (int q = 0; q < u - w; q++)
      if (w[q] != o[i].u[q] && bad[q]++ < 2) printf("u%d of %lx %lx: %x, want %x\n", q, x, y, o[i].u[q], w[q]), wrong++;
    for (int q = 0; q < l - v; q++)
      if (v[q] != o[i].l[q] && bad[40 + q]++ < 2)
        printf("l%d of %lx %lx: %lx, want %lx\n", q, x, y, o[i].l[q], v[q]), wrong++;
  }
  return verdict();
}
