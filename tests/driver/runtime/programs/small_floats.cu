// half, bfloat16 and 8-bit floats, against the conversions on the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include "check.h"

__global__ void k(const float *a, float *o, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  __half h = __float2half(a[i]);
  __half2 p = __halves2half2(h, __hneg(h));
  p = __hfma2(p, p, __float2half2_rn(0.5f));
  o[i * 6] = __low2float(p);
  o[i * 6 + 1] = __half2float(hexp(__float2half(a[i] * 0.1f)));
  __nv_bfloat16 b = __float2bfloat16(a[i]);
  o[i * 6 + 2] = __bfloat162float(__hmul(b, b));
  o[i * 6 + 3] = float(__nv_fp8_e4m3(a[i]));
  o[i * 6 + 4] = float(__nv_fp8_e5m2(a[i]));
  o[i * 6 + 5] = __half2float(__hmax(h, __float2half(0.25f)));
}

int main() {
  int n = 512;
  auto a = managed<float>(n);
  auto o = managed<float>(n * 6);
  for (int i = 0; i < n; i++) a[i] = (i - 256) * 0.0313f;
  k<<<4, 128>>>(a, o, n);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) {
    float h = __half2float(__float2half(a[i]));
    CHECK(o[i * 6] == __half2float(__float2half(h * h + 0.5f)));
    CHECK(fabs(o[i * 6 + 1] - exp(a[i] * 0.1)) < 2e-3 * exp(a[i] * .1));
    float b = __bfloat162float(__float2bfloat16(a[i]));
    CHECK(o[i * 6 + 2] == __bfloat162float(__float2bfloat16(b * b)));
    CHECK(o[i * 6 + 3] == float(__nv_fp8_e4m3(a[i])));
    CHECK(o[i * 6 + 4] == float(__nv_fp8_e5m2(a[i])));
    CHECK(o[i * 6 + 5] == fmaxf(h, 0.25f));
  }
  return verdict();
}
