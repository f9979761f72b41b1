// The error of a kernel stays until cudaDeviceReset.
#include "check.h"

__global__ void store(int *p) { *p = 1; }

int main() {
  int *good, value = 0;
  CUDA(cudaMalloc(&good, 4));
  store<<<1, 1>>>((int *)16);
  FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  FAILS(cudaMemcpy(&value, good, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  store<<<1, 1>>>(good);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CUDA(cudaDeviceReset());
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaSuccess);
  CUDA(cudaMalloc(&good, 4));
  store<<<1, 1>>>(good);
  CUDA(cudaMemcpy(&value, good, 4, cudaMemcpyDeviceToHost));
  CHECK(value == 1);
  return verdict();
}
