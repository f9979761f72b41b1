// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// grid.sync() of a cooperative launch orders what all blocks wrote before what any block reads after it.
// Source: CUDA C++ Programming Guide, cooperative groups: grid synchronization.
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void turned(int *x, int *y, int n) {
  int i = cg::this_grid().thread_rank();
  x[i] = i * i;
  cg::this_grid().sync();
  y[i] = x[n - 1 - i];
}

int main() {
  int n = 4 * 32, *x, *y;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  void *arguments[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel(reinterpret_cast<void *>(turned), dim3(4), dim3(32), arguments, 0, nullptr);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += y[i] != (n - 1 - i) * (n - 1 - i);
  printf("%d wrong of %d\n", wrong, n);
}
