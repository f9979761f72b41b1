// /// script
// [tool.repro]
// arch = "sm_70"
// ///
// __shfl_xor_sync with mask 1 gives each lane the value of its neighbour.
// Source: CUDA C++ Programming Guide, warp shuffle functions.
// CHECK-PTX: shfl.sync.bfly.b32
#include <cstdio>

__global__ void swap(int *x) {
  x[threadIdx.x] = __shfl_xor_sync(0xffffffff, threadIdx.x, 1);
}

int main() {
  int *x;
  cudaMallocManaged(&x, 32 * sizeof(int));
  swap<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 32; i++) printf("%d%c", x[i], i % 8 == 7 ? '\n' : ' ');
}
