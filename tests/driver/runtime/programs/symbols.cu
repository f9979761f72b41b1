// `__device__` and `__constant__` variables: copies with offsets, address, size, errors.
#include "check.h"

__constant__ float factors[4];
__device__ int counter = 5;
__device__ double table[8];
static __device__ unsigned hidden[2] = {7, 9};

__global__ void use(float *out) {
  int i = threadIdx.x;
  out[i] = factors[i & 3] * i;
  table[i & 7] = i;
  if (!i) counter += 10;
  if (i < 2) hidden[i] *= 2;
}

int main() {
  float values[4] = {1, 2, 3, 4}, out[8], *device;
  CUDA(cudaMemcpyToSymbol(factors, values, sizeof values));
  float third = 30;
  CUDA(cudaMemcpyToSymbol(factors, &third, 4, 8));
  CUDA(cudaMalloc(&device, sizeof out));
  use<<<1, 8>>>(device);
  CUDA(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
  float expected[4] = {1, 2, 30, 4};
  for (int i = 0; i < 8; i++) CHECK(out[i] == expected[i & 3] * i);
  int count = 0;
  CUDA(cudaMemcpyFromSymbol(&count, counter, 4));
  CHECK(count == 15);
  double last;
  CUDA(cudaMemcpyFromSymbolAsync(&last, table, 8, 56, cudaMemcpyDeviceToHost, 0));
  CUDA(cudaStreamSynchronize(0));
  CHECK(last == 7);
  unsigned both[2];
  CUDA(cudaMemcpyFromSymbol(both, hidden, 8));
  CHECK(both[0] == 14 && both[1] == 18);
  size_t bytes = 0;
  CUDA(cudaGetSymbolSize(&bytes, table));
  CHECK(bytes == 64);
  void *address = nullptr;
  CUDA(cudaGetSymbolAddress(&address, table));
  CUDA(cudaMemset(address, 0, 8));
  CUDA(cudaMemcpyFromSymbol(&last, table, 8));
  CHECK(last == 0);
  FAILS(cudaMemcpyToSymbol(factors, values, 16, 4), cudaErrorInvalidValue);
  FAILS(cudaGetSymbolAddress(&address, "table"), cudaErrorInvalidSymbol);
  FAILS(cudaMemcpyToSymbol(factors, values, 16, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  return verdict();
}
