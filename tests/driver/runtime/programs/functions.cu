// Mathematical functions of float and double, against the functions of the host.
#include "check.h"

__global__ void k(const float *a, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
  float *r = o + i * 16;
  r[0] = sinf(x);
  r[1] = cosf(x);
  r[2] = tanf(x);
  r[3] = expf(x);
  r[4] = logf(fabsf(x));
  r[5] = powf(fabsf(x), 1.7f);
  r[6] = erff(x);
  r[7] = tgammaf(x * 0.1f + 1.5f);
  r[8] = cbrtf(x);
  r[9] = atan2f(x, 2.f);
  r[10] = rsqrtf(fabsf(x) + 1);
  r[11] = fmodf(x, 3.f);
  r[12] = j0f(x);
  r[13] = normcdff(x);
  r[14] = lgammaf(fabsf(x) + 1);
  r[15] = hypotf(x, 3);
}

__global__ void kd(const double *a, double *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i];
  double *r = o + i * 8;
  r[0] = sin(x);
  r[1] = exp(x);
  r[2] = log(fabs(x) + 1e-9);
  r[3] = pow(fabs(x), 1.7);
  r[4] = erfc(x);
  r[5] = tgamma(x * 0.1 + 1.5);
  r[6] = sqrt(fabs(x));
  r[7] = sinh(x);
}

int main() {
  int n = 500;
  auto a = managed<float>(n), o = managed<float>(n * 16);
  auto b = managed<double>(n), q = managed<double>(n * 8);
  for (int i = 0; i < n; i++) b[i] = a[i] = (i - 250) * 0.037f;
  k<<<4, 128>>>(a, o, n);
  kd<<<4, 128>>>(b, q, n);
  CUDA(cudaDeviceSynchronize());
  auto near = [](double g, double w, double tol) {
    return (std::isnan(g) && std::isnan(w)) || g == w || fabs(g - w) <= tol * (fabs(w) + 0.05);
  };
  for (int i = 0; i < n; i++) {
    double x = a[i];
    float *r = o + i * 16;
    double w[16] = {sin(x),
                    cos(x),
                    tan(x),
                    exp(x),
                    log(fabs(x)),
                    pow(fabs(x), (double)1.7f),
                    erf(x),
                    tgamma(x * 0.1f + 1.5f),
                    cbrt(x),
                    atan2(x, 2),
                    1 / sqrt(fabs(x) + 1),
                    fmod(x, 3),
                    j0(x),
                    0.5 * erfc(-x / sqrt(2.)),
                    lgamma(fabs(x) + 1),
                    hypot(x, 3)};
    for (int j = 0; j < 16; j++)
      if (!near(r[j], w[j], 5e-6)) {
        printf("f %d x=%g got %g want %g\n", j, x, r[j], w[j]);
        return 3;
      }
    double *s = q + i * 8;
    double v[8] = {sin(x),        exp(x), log(fabs(x) + 1e-9), pow(fabs(x), 1.7), erfc(x), tgamma(x * 0.1 + 1.5),
                   sqrt(fabs(x)), sinh(x)};
    for (int j = 0; j < 8; j++)
      if (!near(s[j], v[j], 1e-13)) {
        printf("d %d x=%g got %.17g want %.17g\n", j, x, s[j], v[j]);
        return 3;
      }
  }
  return verdict();
}
