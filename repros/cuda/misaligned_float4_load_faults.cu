// /// script
// [tool.repro]
// arch = "sm_75"
// outcome = "misaligned"
// ///
// A float4 read from an address that is not a multiple of 16 faults.
// Source: CUDA C++ Programming Guide, device memory accesses: size and alignment requirement.
#include <cstdio>

__global__ void sum(float *x) {
  float4 four = *reinterpret_cast<float4 *>(x + 1);
  x[0] = four.x + four.y + four.z + four.w;
}

int main() {
  float *x;
  cudaMallocManaged(&x, 64);
  sum<<<1, 1>>>(x);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
