// Every half and bfloat16 operation of the headers, against double arithmetic that is rounded once.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "check.h"

enum {
  ADD,
  SUB,
  MUL,
  FMA,
  DIV,
  ADD_SAT,
  MUL_SAT,
  FMA_SAT,
  FMA_RELU,
  MAX,
  MIN,
  MAX_NAN,
  ABS,
  NEG,
  SQRT,
  RCP,
  CEIL,
  FLOOR,
  RINT,
  TRUNC,
  N
};

template <typename H>
__global__ void k(const H *a, const H *b, const H *c, H *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  H x = a[i], y = b[i], z = c[i], *r = o + i * N;
  r[ADD] = __hadd(x, y), r[SUB] = __hsub(x, y), r[MUL] = __hmul(x, y), r[FMA] = __hfma(x, y, z), r[DIV] = __hdiv(x, y);
  r[ADD_SAT] = __hadd_sat(x, y), r[MUL_SAT] = __hmul_sat(x, y), r[FMA_SAT] = __hfma_sat(x, y, z);
  r[FMA_RELU] = __hfma_relu(x, y, z), r[MAX] = __hmax(x, y), r[MIN] = __hmin(x, y), r[MAX_NAN] = __hmax_nan(x, y);
  r[ABS] = __habs(x), r[NEG] = __hneg(x), r[SQRT] = hsqrt(__habs(x)), r[RCP] = hrcp(y);
  r[CEIL] = hceil(x), r[FLOOR] = hfloor(x), r[RINT] = hrint(x), r[TRUNC] = htrunc(x);
}

static __half round_to(double x, __half) { return __double2half(x); }
static __nv_bfloat16 round_to(double x, __nv_bfloat16) { return __double2bfloat16(x); }
static double up(__half x) { return __half2float(x); }
static double up(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename H>
static unsigned short bits(H x) {
  unsigned short s;
  memcpy(&s, &x, 2);
  return s;
}

template <typename H>
static void check(const char *type, int exponent_bits) {
  const int n = 4096;
  auto a = managed<H>(n), b = managed<H>(n), c = managed<H>(n), o = managed<H>(n * N);
  unsigned seed = 12345;
  auto next = [&] {
    unsigned short s = (seed = seed * 1664525 + 1013904223) >> 16;
    H h;
    memcpy(&h, &s, 2);
    return h;
  };
  unsigned short special[] = {0, 0x8000, 0x3c00, 0x3f80, 0x7c00, 0x7f80, 0xfc00, 0xff80, 0x7fff,
                              1, 0x8001, 0x7bff, 0x7f7f, 0x03ff, 0x0400, 0x007f, 0x0080};
  for (int i = 0; i < n; i++) {
    a[i] = next(), b[i] = next(), c[i] = next();
    if (i % 3 == 0) memcpy(&a[i], &special[i / 3 % 17], 2);
    if (i % 5 == 0) memcpy(&b[i], &special[i / 5 % 17], 2);
    if (i % 7 == 0) memcpy(&c[i], &special[i / 7 % 17], 2);
  }
  k<<<32, 128>>>(a, b, c, o, n);
  CUDA(cudaDeviceSynchronize());
  int bad[N] = {};
  for (int i = 0; i < n; i++) {
    double x = up(a[i]), y = up(b[i]), z = up(c[i]);
    H *r = o + i * N;
    auto same = [&](int which, double e, bool ulp = false) {
      H want = round_to(e, H());
      bool ok = std::isnan(e) ? std::isnan(up(r[which])) : bits(want) == bits(r[which]);
      if (!ok && ulp && !std::isnan(e)) ok = abs((int)bits(want) - (int)bits(r[which])) <= 1;
      if (!ok && bad[which]++ < 2)
        printf("%s op %d: %g %g %g -> %g (%04x), want %g (%04x)\n", type, which, x, y, z, up(r[which]), bits(r[which]),
               up(want), bits(want)),
            wrong++;
    };
    auto sat = [](double v) { return std::isnan(v) ? 0. : v < 0 ? 0. : v > 1 ? 1. : v == 0 ? 0. : v; };
    same(ADD, x + y), same(SUB, x - y), same(MUL, x * y);
    double f = x * y + z;  // exact up to one rounding of double, which matters in rare ties only
    volatile double p = x * y;
    double residue = fma(x, y, -p);
    double t = p + z, e = (p - (t - (t - p))) + (z - (t - p));
    (void)e, (void)residue;
    f = fma(x, y, z);
    same(FMA, f, true);
    same(DIV, x / y, true);
    auto relu = [](double v) { return v < 0 ? 0. : v; };
    if (!std::isnan(x + y)) same(ADD_SAT, sat(up(round_to(x + y, H()))));
    if (!std::isnan(x * y)) same(MUL_SAT, sat(up(round_to(x * y, H()))));
    if (!std::isnan(f)) same(FMA_SAT, sat(f), true), same(FMA_RELU, relu(f) == 0 ? 0. : relu(f), true);
    if (!(x == 0 && y == 0)) same(MAX, fmax(x, y)), same(MIN, fmin(x, y));
    if (!(x == 0 && y == 0)) same(MAX_NAN, std::isnan(x) || std::isnan(y) ? NAN : fmax(x, y));
    same(ABS, fabs(x)), same(NEG, -x), same(SQRT, sqrt(fabs(x)), true), same(RCP, 1 / y, true);
    same(CEIL, ceil(x)), same(FLOOR, floor(x)), same(RINT, nearbyint(x)), same(TRUNC, trunc(x));
  }
}

__global__ void conversions(const float *f, const double *d, const int *i, unsigned short *o, int n) {
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  if (t >= n) return;
  unsigned short *r = o + t * 16;
  float x = f[t];
  r[0] = __half_as_ushort(__float2half_rn(x)), r[1] = __half_as_ushort(__float2half_rz(x));
  r[2] = __half_as_ushort(__float2half_rd(x)), r[3] = __half_as_ushort(__float2half_ru(x));
  r[4] = __bfloat16_as_ushort(__float2bfloat16_rn(x)), r[5] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
  r[6] = __bfloat16_as_ushort(__float2bfloat16_rd(x)), r[7] = __bfloat16_as_ushort(__float2bfloat16_ru(x));
  r[8] = __half_as_ushort(__double2half(d[t])), r[9] = __bfloat16_as_ushort(__double2bfloat16(d[t]));
  r[10] = __half_as_ushort(__int2half_rn(i[t])), r[11] = __half_as_ushort(__uint2half_rz(i[t]));
  r[12] = __bfloat16_as_ushort(__int2bfloat16_rn(i[t]));
  r[13] = (unsigned short)__half2short_rz(__ushort_as_half((unsigned short)i[t]));
}

static void check_conversions() {
  const int n = 8192;
  auto f = managed<float>(n);
  auto d = managed<double>(n);
  auto v = managed<int>(n);
  auto o = managed<unsigned short>(n * 16);
  unsigned seed = 77;
  for (int i = 0; i < n; i++) {
    unsigned s = seed = seed * 1664525 + 1013904223;
    unsigned u = (s & 0x807fffff) | ((90 + s % 60) << 23);
    if (i % 2) u &= 0xffffe000 | (i % 4 == 1 ? 0x1000 : 0);
    memcpy(&f[i], &u, 4);
    d[i] = f[i] * (1 + ldexp(i % 5 - 2, -40));
    v[i] = s >> (i % 28);
    if (i % 9 == 0) v[i] = -v[i];
  }
  conversions<<<64, 128>>>(f, d, v, o, n);
  CUDA(cudaDeviceSynchronize());
  int bad[16] = {};
  for (int i = 0; i < n; i++) {
    auto h = [](__half x) { return bits(x); };
    auto b = [](__nv_bfloat16 x) { return bits(x); };
    unsigned short w[16] = {
        h(__float2half_rn(f[i])),     h(__float2half_rz(f[i])),
        h(__float2half_rd(f[i])),     h(__float2half_ru(f[i])),
        b(__float2bfloat16_rn(f[i])), b(__float2bfloat16_rz(f[i])),
        b(__float2bfloat16_rd(f[i])), b(__float2bfloat16_ru(f[i])),
        h(__double2half(d[i])),       b(__double2bfloat16(d[i])),
        h(__int2half_rn(v[i])),       h(__uint2half_rz(v[i])),
        b(__int2bfloat16_rn(v[i])),   (unsigned short)__half2short_rz(__ushort_as_half((unsigned short)v[i]))};
    for (int k = 0; k < 14; k++)
      if (w[k] != o[i * 16 + k] && bad[k]++ < 2)
        printf("conversion %d of %a %a %d: %04x, want %04x\n", k, f[i], d[i], v[i], o[i * 16 + k], w[k]), wrong++;
  }
}

__global__ void packed(__half2 *h, __nv_bfloat162 *b, float4 *f, float2 *g) {
  atomicAdd(h, __floats2half2_rn(1, 0.5f));
  atomicAdd(b, __floats2bfloat162_rn(1, 0.5f));
  atomicAdd((__half *)(h + 1), __float2half(0.25f));
  atomicAdd((__nv_bfloat16 *)(b + 1), __float2bfloat16(0.25f));
  atomicAdd(f, make_float4(1, 2, 3, 4));
  atomicAdd(g, make_float2(1, -1));
  __half2 s = __shfl_down_sync(~0u, __floats2half2_rn(threadIdx.x, -(float)threadIdx.x), 1);
  if (blockIdx.x == 0 && threadIdx.x == 3) h[2] = s, h[3] = __lowhigh2highlow(s), h[4] = __hgt2(s, __float2half2_rn(0));
  if (blockIdx.x == 0 && threadIdx.x == 3)
    h[5] = h2exp2(__floats2half2_rn(3, -2)), h[6] = __hmul2_sat(__floats2half2_rn(3, -2), __floats2half2_rn(2, 2));
}

int main() {
  check<__half>("half", 5);
  check<__nv_bfloat16>("bfloat16", 8);
  check_conversions();
  auto h = managed<__half2>(16);
  auto b = managed<__nv_bfloat162>(16);
  auto f = managed<float4>(1);
  auto g = managed<float2>(1);
  memset(h, 0, 64), memset(b, 0, 64), *f = float4{}, *g = float2{};
  packed<<<2, 32>>>(h, b, f, g);
  CUDA(cudaDeviceSynchronize());
  CHECK(__low2float(h[0]) == 64 && __high2float(h[0]) == 32 && __low2float(h[1]) == 16);
  CHECK(__low2float(b[0]) == 64 && __high2float(b[0]) == 32 && __low2float(b[1]) == 16);
  CHECK(f->x == 64 && f->y == 128 && f->z == 192 && f->w == 256 && g->x == 64 && g->y == -64);
  CHECK(__low2float(h[2]) == 4 && __high2float(h[2]) == -4 && __low2float(h[3]) == -4 && __low2float(h[4]) == 1 &&
        __high2float(h[4]) == 0);
  CHECK(__low2float(h[5]) == 8 && __high2float(h[5]) == 0.25f && __low2float(h[6]) == 1 && __high2float(h[6]) == 0);
  return verdict();
}
