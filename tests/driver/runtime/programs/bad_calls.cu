// Calls that CUDA refuses, and what they leave.
#include "check.h"
__global__ void plain(int *p) {
  if (p) *p = 1;
}
__global__ void __launch_bounds__(128) bounded(int *p) { *p = 2; }
__global__ void hungry(int *p) {
  __shared__ int s[10000];
  s[threadIdx.x] = 1;
  __syncthreads();
  *p = s[0];
}
#define LAUNCH(expected, ...) do { __VA_ARGS__; FAILS(cudaPeekAtLastError(), expected); FAILS(cudaGetLastError(), expected); FAILS(cudaGetLastError(), cudaSuccess); } while (0)
int main() {
  int *p;
  CUDA(cudaMalloc(&p, 64));
  LAUNCH(cudaErrorInvalidConfiguration, plain<<<0, 1>>>(p));
  LAUNCH(cudaErrorInvalidConfiguration, plain<<<1, 0>>>(p));
  LAUNCH(cudaErrorInvalidConfiguration, plain<<<1, 1025>>>(p));
  LAUNCH(cudaErrorInvalidConfiguration, plain<<<1, dim3(1, 1, 65)>>>(p));
  LAUNCH(cudaErrorInvalidConfiguration, plain<<<dim3(1, 65536), 1>>>(p));
  LAUNCH(cudaErrorInvalidValue, plain<<<1, 1, 1 << 20>>>(p));
  LAUNCH(cudaErrorInvalidValue, plain<<<1, 1, 49153>>>(p));
  LAUNCH(cudaErrorInvalidValue, bounded<<<1, 129>>>(p));
  LAUNCH(cudaErrorInvalidValue, hungry<<<1, 1, 10000>>>(p));
  LAUNCH(cudaSuccess, plain<<<1, 1, 49152>>>(p));
  FAILS(cudaMalloc((void **)nullptr, 4), cudaErrorInvalidValue);
  FAILS(cudaMalloc(&p, 1ull << 45), cudaErrorMemoryAllocation);
  FAILS(cudaMemcpy(nullptr, &p, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CUDA(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  FAILS(cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);
  FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
  FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
  int v;
  FAILS(cudaDeviceGetAttribute(&v, (cudaDeviceAttr)100000, 0), cudaErrorInvalidValue);
  FAILS(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 3), cudaErrorInvalidDevice);
  cudaDeviceProp prop;
  FAILS(cudaGetDeviceProperties(&prop, 5), cudaErrorInvalidDevice);
  cudaFuncAttributes attributes;
  FAILS(cudaFuncGetAttributes(&attributes, (const void *)&main), cudaErrorInvalidDeviceFunction);
  CUDA(cudaFuncGetAttributes(&attributes, bounded));
  CHECK(attributes.maxThreadsPerBlock == 128);
  CUDA(cudaFuncGetAttributes(&attributes, hungry));
  CHECK(attributes.sharedSizeBytes == 40000 && attributes.maxDynamicSharedSizeBytes == 49152 - 40000);
  FAILS(cudaStreamCreateWithFlags((cudaStream_t *)&v, 77), cudaErrorInvalidValue);
  FAILS(cudaMemcpy2D(p, 4, p, 8, 8, 2, cudaMemcpyDeviceToDevice), cudaErrorInvalidPitchValue);
  int a = 0, can;
  FAILS(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  cudaGetLastError();
  CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") &&
        !strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
  CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
  int count;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(count == 1);
  cudaLaunchConfig_t config = {};
  config.gridDim = 1, config.blockDim = 1;
  void *none[] = {&p};
  FAILS(cudaLaunchKernelExC(&config, nullptr, none), cudaErrorInvalidDeviceFunction);
  FAILS(cudaLaunchCooperativeKernel((void *)plain, 100000, 1024, none, 0, 0), cudaErrorCooperativeLaunchTooLarge);
  cudaGraph_t g;
  FAILS(cudaStreamEndCapture(0, &g), cudaErrorIllegalState);
  cudaGetLastError();
  cudaStream_t s;
  CUDA(cudaStreamCreate(&s));
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  FAILS(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
  FAILS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  FAILS(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
  cudaStreamEndCapture(s, &g);
  cudaGetLastError();
  CUDA(cudaDeviceReset());
  CUDA(cudaMalloc(&p, 64));
  plain<<<1, 1>>>(p);
  CUDA(cudaMemcpy(&a, p, 4, cudaMemcpyDeviceToHost));
  CHECK(a == 1);
  return verdict();
}
