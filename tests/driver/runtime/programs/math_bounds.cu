// Mathematical functions within the errors of the CUDA C++ Programming Guide; what is exact, exact.
#include <cmath>
#include "check.h"

#define FLOATS(F) \
  F(sinf, 2, sinl(x)) F(cosf, 2, cosl(x)) F(tanf, 4, tanl(x)) F(expf, 2, expl(x)) F(exp2f, 2, exp2l(x)) F(exp10f, 2, powl(10, x)) \
  F(expm1f, 1, expm1l(x)) F(logf, 1, logl(fabsl(x))) F(log2f, 1, log2l(fabsl(x))) F(log10f, 2, log10l(fabsl(x))) F(log1pf, 1, log1pl(fabsl(x))) \
  F(sqrtf, 0, sqrtl(fabsl(x))) F(rsqrtf, 2, 1 / sqrtl(fabsl(x))) F(cbrtf, 1, cbrtl(x)) F(rcbrtf, 1, 1 / cbrtl(x)) \
  F(sinhf, 3, sinhl(x)) F(coshf, 2, coshl(x)) F(tanhf, 2, tanhl(x)) F(atanf, 2, atanl(x)) F(asinhf, 3, asinhl(x)) \
  F(erff, 2, erfl(x)) F(erfcf, 4, erfcl(x)) F(tgammaf, 5, tgammal(fabsl(x))) F(sinpif, 1, sinpi_(x)) F(cospif, 1, cospi_(x)) \
  F(normcdff, 5, 0.5l * erfcl(-x / sqrtl(2))) F(erfcxf, 4, expl(x * x) * erfcl(x))
#define POSITIVE(f) (f[0] == 'l' && f[1] == 'o') || f[0] == 'r' && f[1] == 's' || f[0] == 's' && f[1] == 'q' || f[0] == 't' && f[1] == 'g'
static long double sinpi_(long double x) { return sinl(fmodl(x, 2) * M_PIl); }
static long double cospi_(long double x) { return cosl(fmodl(x, 2) * M_PIl); }
#define COUNT(f, ulp, e) +1
constexpr int N = 0 FLOATS(COUNT);
#define DOUBLES(F) F(sin) F(cos) F(tan) F(exp) F(exp2) F(exp10) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(rsqrt) F(cbrt) F(rcbrt) F(sinh) F(cosh) F(tanh) F(atan) F(asinh) F(erf) F(erfc) F(tgamma)
__global__ void floats(const float *in, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float *r = o + i * N, s = in[i];
#define DO(f, ulp, e) { float x = #f[0] == 'l' || #f[1] == 's' && #f[0] == 'r' || #f[1] == 'q' || #f[1] == 'g' ? fabsf(s) : s; *r++ = f(x); }
  FLOATS(DO)
}
constexpr int D = 23;
__global__ void doubles(const double *in, double *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double *r = o + i * D, s = in[i];
#define DOD(f) { double x = #f[0] == 'l' || #f[1] == 's' && #f[0] == 'r' || #f[1] == 'q' || #f[1] == 'g' ? fabs(s) : s; *r++ = f(x); }
  DOUBLES(DOD)
}
static int bits(float x) {
  int i;
  memcpy(&i, &x, 4);
  return i < 0 ? INT_MIN - i : i;
}
static long bits(double x) {
  long i;
  memcpy(&i, &x, 8);
  return i < 0 ? LONG_MIN - i : i;
}

struct Exact {
  float f[40];
  int i[24];
  double d[16];
};
__host__ __device__ static void two(float x, float y, double u, double v, Exact *e) {
  float *f = e->f;
  int *i = e->i, q;
  double *d = e->d;
  *f++ = fmodf(x, y), *f++ = remainderf(x, y), *f++ = remquof(x, y, &q), *f++ = fdimf(x, y), *f++ = fmaxf(x, y),
  *f++ = fminf(x, y);
  *i++ = q & 7;
  *f++ = copysignf(x, y), *f++ = nextafterf(x, y), *f++ = ceilf(x), *f++ = floorf(x), *f++ = truncf(x), *f++ = rintf(x),
  *f++ = roundf(x), *f++ = nearbyintf(x);
  *f++ = ldexpf(x, 5), *f++ = scalbnf(x, -140), *f++ = logbf(x), *f++ = fmaf(x, y, x), *f++ = fabsf(x), *f++ = x / y,
  *f++ = sqrtf(fabsf(y));
  int k;
  float whole;
  *f++ = frexpf(x, &k), *i++ = k, *f++ = modff(x, &whole), *f++ = whole;
  *i++ = ilogbf(x), *i++ = isnan(x), *i++ = isinf(x), *i++ = signbit(x) != 0, *i++ = isfinite(y) != 0;
  if (fabsf(x) < 1e9f) *i++ = lrintf(x), *i++ = lroundf(x), *i++ = (int)x, *i++ = (int)llrintf(x);
  *d++ = fmod(u, v), *d++ = remainder(u, v), *d++ = fma(u, v, u), *d++ = u / v, *d++ = sqrt(fabs(u)), *d++ = rint(u),
  *d++ = round(u), *d++ = nextafter(u, v), *d++ = ldexp(u, -1060), *d++ = fdim(u, v), *d++ = logb(u);
  *d++ = trunc(u), *d++ = (double)(float)u, *d++ = fmax(u, v), *d++ = floor(v);
}
__global__ void exact(const float *a, const float *b, const double *c, const double *d, Exact *e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) two(a[i], b[i], c[i], d[i], e + i);
}
__global__ void rounded(const float *a, const float *b, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], *r = o + i * 24;
  *r++ = __fadd_rn(x, y), *r++ = __fadd_rz(x, y), *r++ = __fadd_ru(x, y), *r++ = __fadd_rd(x, y);
  *r++ = __fmul_rn(x, y), *r++ = __fmul_rz(x, y), *r++ = __fmul_ru(x, y), *r++ = __fmul_rd(x, y);
  *r++ = __fdiv_rn(x, y), *r++ = __fdiv_rz(x, y), *r++ = __fdiv_ru(x, y), *r++ = __fdiv_rd(x, y);
  *r++ = __fsqrt_rn(fabsf(x)), *r++ = __fsqrt_rz(fabsf(x)), *r++ = __fsqrt_ru(fabsf(x)), *r++ = __fsqrt_rd(fabsf(x));
  *r++ = __frcp_rn(x), *r++ = __frcp_rz(x), *r++ = __frcp_ru(x), *r++ = __frcp_rd(x);
  *r++ = __double2float_rn(x * (double)y), *r++ = __double2float_rz(x * (double)y),
  *r++ = __double2float_ru(x * (double)y), *r++ = __double2float_rd(x * (double)y);
}
#include <cfenv>
#pragma GCC optimize("rounding-math")
__attribute__((noinline, optimize("no-fast-math,rounding-math,O0"))) static float host_op(int op, volatile float x,
                                                                                          volatile float y) {
  volatile float r;
  if (op == 0) r = x + y;
  else if (op == 1) r = x * y;
  else if (op == 2) r = x / y;
  else if (op == 3) r = sqrtf(fabsf(x));
  else if (op == 4) r = 1.0f / x;
  else {
    volatile double p = (double)x * (double)y;
    r = (float)p;
  }
  return r;
}

int main() {
  const int n = 4000;
  auto in = managed<float>(n), o = managed<float>(n * N), b = managed<float>(n), rr = managed<float>(n * 24);
  auto din = managed<double>(n), dd = managed<double>(n * D), d2 = managed<double>(n);
  auto e = managed<Exact>(n);
  memset(e, 0, n * sizeof(Exact));
  unsigned seed = 9;
  auto random = [&] { return (seed = seed * 1664525 + 1013904223) >> 8; };
  for (int i = 0; i < n; i++) {
    in[i] = (random() / 16777216.f - 0.5f) * (i % 4 == 0 ? 60 : i % 4 == 1 ? 8 : i % 4 == 2 ? 1 : 1e-3f);
    din[i] = in[i] * (1 + random() * 1e-12);
    b[i] = (random() / 16777216.f - 0.5f) * (i % 3 == 0 ? 100 : 3), d2[i] = b[i] * (1 + random() * 1e-13);
  }
  floats<<<32, 128>>>(in, o, n);
  doubles<<<32, 128>>>(din, dd, n);
  CUDA(cudaDeviceSynchronize());
  int worst[N] = {};
  long worst_d[D] = {};
  const char *names[N], *names_d[D];
  int bounds[N];
  for (int i = 0; i < n; i++) {
    float *r = o + i * N;
    int k = 0;
#define SEE(f, ulp, expected) { long double x = in[i]; float want = (float)(expected), got = r[k]; \
    float v = #f[0] == 'l' || #f[1] == 's' && #f[0] == 'r' || #f[1] == 'q' || #f[1] == 'g' ? fabsf(in[i]) : in[i]; (void)v; \
    int off = std::isnan(want) && std::isnan(got) ? 0 : (int)std::min(1000000l, labs((long)bits(want) - bits(got))); \
    if (off > worst[k]) worst[k] = off; names[k] = #f, bounds[k] = ulp; k++; }
    FLOATS(SEE)
    double *q = dd + i * D;
    k = 0;
    long double x = din[i], p = fabsl(x),
                w[D] = {sinl(x),      cosl(x),   tanl(x),      expl(x),   exp2l(x),  powl(10, x),
                        expm1l(x),    logl(p),   log2l(p),     log10l(p), log1pl(p), sqrt((double)p),
                        1 / sqrtl(p), cbrtl(x),  1 / cbrtl(x), sinhl(x),  coshl(x),  tanhl(x),
                        atanl(x),     asinhl(x), erfl(x),      erfcl(x),  tgammal(p)};
    for (int j = 0; j < D; j++)
      worst_d[j] = std::max(worst_d[j], std::min(1000000l, labs(bits((double)w[j]) - bits(q[j]))));
  }
  for (int k = 0; k < N; k++)
    if (worst[k] > bounds[k]) printf("%s: %d ulp, at most %d\n", names[k], worst[k], bounds[k]), wrong++;
  int bound_d[D] = {2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 2, 1, 1, 2, 2, 2, 5, 10};
  for (int j = 0; j < D; j++)
    if (worst_d[j] > bound_d[j]) printf("double %d: %ld ulp, at most %d\n", j, worst_d[j], bound_d[j]), wrong++;

  float special[] = {0, -0.f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 0.5f, 1.5f, 2.5f, -2.5f, 3.4e38f, 8388609.f};
  for (int i = 0; i < 169; i++) in[i] = special[i / 13], b[i] = special[i % 13], din[i] = in[i], d2[i] = b[i];
  exact<<<32, 128>>>(in, b, din, d2, e, n);
  rounded<<<32, 128>>>(in, b, rr, n);
  CUDA(cudaDeviceSynchronize());
  int bad[80] = {};
  for (int i = 0; i < n; i++) {
    Exact w = {};
    two(in[i], b[i], din[i], d2[i], &w);
    auto differ = [](double p, double q) {
      return !(std::isnan(p) && std::isnan(q)) && (p != q || std::signbit(p) != std::signbit(q));
    };
    for (int k = 0; k < 24; k++)
      if (differ(w.f[k], e[i].f[k]) && !(in[i] == 0 && b[i] == 0 && (k == 4 || k == 5)) && bad[k]++ < 2)
        printf("float %d of %a %a: %a, want %a\n", k, in[i], b[i], e[i].f[k], w.f[k]), wrong++;
    bool odd = !std::isfinite(in[i]) || in[i] == 0;
    for (int k = 0; k < 12; k++) {
      if (k == 0 && (odd || !std::isfinite(b[i]) || b[i] == 0)) continue;
      if (k == 1 && odd) continue;
      if (w.i[k] != e[i].i[k] && bad[40 + k]++ < 2)
        printf("int %d of %a %a: %d, want %d\n", k, in[i], b[i], e[i].i[k], w.i[k]), wrong++;
    }
    for (int k = 0; k < 15; k++)
      if (differ(w.d[k], e[i].d[k]) && !(din[i] == 0 && d2[i] == 0 && k == 13) && bad[60 + k]++ < 2)
        printf("double %d of %a %a: %a, want %a\n", k, din[i], d2[i], e[i].d[k], w.d[k]), wrong++;
    int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    static int off[24];
    for (int m = 0; m < 4; m++) {
      fesetround(modes[m]);
      float want[6];
      for (int op = 0; op < 6; op++) want[op] = host_op(op, in[i], b[i]);
      fesetround(FE_TONEAREST);
      for (int op = 0; op < 6; op++)
        if (differ(want[op], rr[i * 24 + op * 4 + m]) && off[op * 4 + m]++ < 2)
          printf("rounded %d mode %d of %a %a: %a, want %a\n", op, m, in[i], b[i], rr[i * 24 + op * 4 + m], want[op]),
              wrong++;
    }
  }
  return verdict();
}
