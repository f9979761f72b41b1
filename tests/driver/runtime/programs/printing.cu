// printf of a kernel: its text comes out before the program goes on after a synchronisation.
#include "check.h"

__global__ void hello(int x) { printf("hello %d from %d, %.2f %s\n", x, threadIdx.x, x / 4., "text"); }

int main() {
  printf("before\n");
  fflush(stdout);
  hello<<<1, 2>>>(7);
  CUDA(cudaDeviceSynchronize());
  printf("after\n");
  return verdict();
}
