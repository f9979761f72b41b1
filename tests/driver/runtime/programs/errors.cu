// Errors: codes of calls and launches, the last error, names and texts.
#include "check.h"

__global__ void nothing() {}

int main() {
  void *memory;
  CHECK(cudaGetLastError() == cudaSuccess);
  nothing<<<1, 2000>>>();
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
  nothing<<<0, 32>>>();
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  nothing<<<dim3(1, 70000), 32>>>();
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  nothing<<<1, 32, 100000>>>();
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  FAILS(cudaMalloc(nullptr, 100), cudaErrorInvalidValue);
  FAILS(cudaMalloc(&memory, (size_t)1 << 60), cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CUDA(cudaMalloc(&memory, 0));
  CHECK(memory == nullptr);
  CUDA(cudaFree(nullptr));
  FAILS(cudaFree((void *)0x1234), cudaErrorInvalidValue);
  FAILS(cudaMemcpy(memory, &memory, 8, (cudaMemcpyKind)9), cudaErrorInvalidValue);
  FAILS(cudaLaunchKernel((void *)main, dim3(1), dim3(1), nullptr, 0, 0), cudaErrorInvalidDeviceFunction);
  cudaFuncAttributes attributes;
  FAILS(cudaFuncGetAttributes(&attributes, (void *)main), cudaErrorInvalidDeviceFunction);
  CHECK(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
  CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
  CHECK(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
  cudaGetLastError();
  nothing<<<1, 1>>>();
  CUDA(cudaDeviceSynchronize());
  return verdict();
}
