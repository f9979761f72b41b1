// nvcc -rdc=true: device code that nvcc links, with a function and a variable that other files could use.
// flags: -rdc=true
#include "check.h"

__device__ int offset = 100;
__device__ __noinline__ int shifted(int x) { return x + offset; }
__global__ void apply(int *out) { out[threadIdx.x] = shifted(threadIdx.x); }

int main() {
  int *out, host[32], other = 7;
  CUDA(cudaMalloc(&out, sizeof host));
  apply<<<1, 32>>>(out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) CHECK(host[i] == i + 100);
  CUDA(cudaMemcpyToSymbol(offset, &other, 4));
  apply<<<1, 32>>>(out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) CHECK(host[i] == i + 7);
  return verdict();
}
