// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// atomicAdd of floats that are integers gives their exact sum in any order while the sum stays below 2^24.
// Source: IEEE 754: such a sum needs no rounding; CUDA C++ Programming Guide, atomicAdd: the order is open.
// CHECK-PTX: {{atom|red}}{{.*}}add.f32
#include <cstdio>

__global__ void add(float *sum) { atomicAdd(sum, float(blockIdx.x * blockDim.x + threadIdx.x)); }

int main() {
  float *sum;
  cudaMallocManaged(&sum, sizeof(float));
  *sum = 0;
  add<<<8, 128>>>(sum);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  printf("%.1f\n", *sum);
  return *sum != 1023 * 1024 / 2;
}
