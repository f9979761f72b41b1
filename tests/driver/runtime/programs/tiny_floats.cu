// fp8, fp6 and fp4 conversions of the headers on the device, against the same headers on the host.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include "check.h"

__host__ __device__ static void all(float x, unsigned char *r) {
  __half h = __float2half(x);
  r[0] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3),
  r[1] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  r[2] = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3), r[3] = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
  r[4] = __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3),
  r[5] = __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E5M2);
  r[6] = __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest),
  r[7] = __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest);
  r[8] = __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
  r[9] = __nv_cvt_double_to_fp8((double)x, __NV_SATFINITE, __NV_E4M3);
  __nv_fp8_e8m0 e8(x);
  r[10] = e8.__x;
  r[11] = __nv_cvt_bfloat16raw_to_e8m0(__float2bfloat16(x), __NV_SATFINITE, cudaRoundPosInf);
}
__host__ __device__ static void back(unsigned char c, float *r) {
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = c, b.__x = c;
  r[0] = float(a), r[1] = float(b);
  __nv_fp6_e2m3 d;
  __nv_fp6_e3m2 e;
  __nv_fp4_e2m1 f;
  d.__x = c & 63, e.__x = c & 63, f.__x = c & 15;
  r[2] = float(d), r[3] = float(e), r[4] = float(f);
  __nv_fp8_e8m0 g;
  g.__x = c;
  r[5] = float(g);
}
__global__ void to(const float *f, unsigned char *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) all(f[i], o + i * 12);
}
__global__ void from(float *o) { back(threadIdx.x, o + threadIdx.x * 6); }

int main() {
  const int n = 20000;
  auto f = managed<float>(n);
  auto o = managed<unsigned char>(n * 12);
  unsigned seed = 5;
  for (int i = 0; i < n; i++) {
    unsigned s = seed = seed * 1664525 + 1013904223,
             u = (s & 0x80700000) | ((100 + s % 60) << 23) | (i % 3 == 0 ? s & 0xfffff : i % 3);
    memcpy(&f[i], &u, 4);
  }
  f[0] = 0, f[1] = -0.f, f[2] = INFINITY, f[3] = -INFINITY, f[4] = NAN, f[5] = 448, f[6] = 464, f[7] = 465,
  f[8] = 57344, f[9] = 61440, f[10] = 1e-30f, f[11] = 6, f[12] = 5, f[13] = 28, f[14] = 7.5f;
  to<<<(n + 127) / 128, 128>>>(f, o, n);
  CUDA(cudaDeviceSynchronize());
  int bad[12] = {};
  for (int i = 0; i < n; i++) {
    unsigned char r[12];
    all(f[i], r);
    for (int k = 0; k < 12; k++)
      if (r[k] != o[i * 12 + k] && bad[k]++ < 3)
        printf("%d of %a: %02x, want %02x\n", k, f[i], o[i * 12 + k], r[k]), wrong++;
  }
  auto b = managed<float>(256 * 6);
  from<<<1, 256>>>(b);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 256; i++) {
    float r[6];
    back(i, r);
    for (int k = 0; k < 6; k++) CHECK(r[k] == b[i * 6 + k] || (std::isnan(r[k]) && std::isnan(b[i * 6 + k])));
  }
  return verdict();
}
