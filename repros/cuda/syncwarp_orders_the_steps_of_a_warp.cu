/*
 * /// script
 * [tool.repro]
 * arch = "sm_75"
 * ///
 * __syncwarp() between the steps of a sum in shared memory makes the sum of a warp right.
 * Source: CUDA C++ Programming Guide, synchronization functions: __syncwarp orders memory accesses of its threads.
 * CHECK-PTX: bar.warp.sync
 */
#include <cstdio>

__global__ void sum(int *x) {
  __shared__ int part[32];
  int i = threadIdx.x;
  part[i] = x[i];
  __syncwarp();
  for (int step = 16; step; step /= 2) {
    int other = part[(i + step) % 32];
    __syncwarp();
    part[i] += other;
    __syncwarp();
  }
  x[i] = part[i];
}

int main() {
  int *x;
  cudaMallocManaged(&x, 32 * sizeof(int));
  for (int i = 0; i < 32; i++) x[i] = i;
  sum<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  printf("%d %d\n", x[0], x[31]);
}
