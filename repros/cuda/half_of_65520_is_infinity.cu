// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// __float2half gives infinity from 65520 on, and 65504 for what is less: it rounds, and does not saturate.
// Source: IEEE 754, roundTiesToEven; CUDA Math API, half precision conversion: __float2half rounds to nearest even.
// CHECK-PTX: cvt.rn.f16.f32
#include <cstdio>
#include <cuda_fp16.h>

__global__ void convert(float *x) { x[threadIdx.x] = __half2float(__float2half(x[threadIdx.x])); }

int main() {
  float *x, values[] = {65504, 65519, 65519.996f, 65520, -65520, 1e30f, 2048.5f, 2049, 2051, 5.9604645e-8f, 2.9e-8f};
  int n = sizeof values / sizeof *values;
  cudaMallocManaged(&x, sizeof values);
  for (int i = 0; i < n; i++) x[i] = values[i];
  convert<<<1, n>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < n; i++) printf("%.9g -> %.9g\n", values[i], x[i]);
}
