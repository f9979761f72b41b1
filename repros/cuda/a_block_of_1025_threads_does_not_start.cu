// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// A launch with more than 1024 threads in a block gives an error at once, and the next launch works.
// Source: CUDA C++ Programming Guide, thread hierarchy: a block has at most 1024 threads.
#include <cstdio>

__global__ void one(int *x) { *x += 1; }

int main() {
  int *x;
  cudaMallocManaged(&x, sizeof(int));
  *x = 0;
  for (int threads : {1025, 1}) {
    one<<<1, threads>>>(x);
    printf("%d threads: %s\n", threads, cudaGetErrorName(cudaGetLastError()));
  }
  printf("%s, %d\n", cudaGetErrorName(cudaDeviceSynchronize()), *x);
}
