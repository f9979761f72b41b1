// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// nvcc makes one fma of a * b + c, which rounds once, unless the intrinsics forbid it.
// Source: CUDA C++ Programming Guide, floating-point standard; nvcc, --fmad (default true).
// CHECK-PTX: fma.rn.f32
// CHECK-PTX: mul.rn.f32
// CHECK-PTX: add.rn.f32
#include <cmath>
#include <cstdio>

__global__ void both(float *out, float a, float b, float c) {
  out[0] = a * b + c;
  out[1] = __fadd_rn(__fmul_rn(a, b), c);
}

int main() {
  float *out;
  cudaMallocManaged(&out, 2 * sizeof(float));
  float a = 1 + 0x1p-12f;
  both<<<1, 1>>>(out, a, a, -1 - 0x1p-11f);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  printf("%a %a\n", out[0], out[1]);
  return out[0] != fmaf(a, a, -1 - 0x1p-11f);
}
