// A device-side assert is the error of the launch.
#include <cassert>

#include "check.h"

__global__ void positive(int x) { assert(x > 0); }

int main() {
  positive<<<1, 1>>>(1);
  CUDA(cudaDeviceSynchronize());
  positive<<<1, 1>>>(-1);
  FAILS(cudaDeviceSynchronize(), cudaErrorAssert);
  CHECK(!strcmp(cudaGetErrorString(cudaErrorAssert), "device-side assert triggered"));
  return verdict();
}
