// /// script
// [tool.repro]
// arch = "sm_75"
// outcome = "race"
// ///
// A sum over a block in shared memory needs a barrier in each step, also within one warp.
// Source: CUDA C++ Programming Guide, independent thread scheduling: warp-synchronous code is not safe.
#include <cstdio>

__global__ void sum(int *x) {
  __shared__ int part[32];
  int i = threadIdx.x;
  part[i] = x[i];
  for (int step = 16; step; step /= 2)
    if (i < step) part[i] += part[i + step];
  if (i == 0) x[0] = part[0];
}

int main() {
  int *x;
  cudaMallocManaged(&x, 32 * sizeof(int));
  for (int i = 0; i < 32; i++) x[i] = i;
  sum<<<1, 32>>>(x);
  printf("%s %d\n", cudaGetErrorName(cudaDeviceSynchronize()), x[0]);
}
