// Attributes of kernels, dynamic shared memory above 48 KB, occupancy.
#include "check.h"

__global__ void plain(int *out) { out[threadIdx.x] = threadIdx.x; }

__global__ void __launch_bounds__(256) reverse(int *out, int words) {
  extern __shared__ int shared[];
  __shared__ int few[32];
  for (int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = i;
  if (threadIdx.x < 32) few[threadIdx.x] = 1;
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = shared[words - 1 - i] * few[i & 31];
}

int main() {
  const int WORDS = 20000;
  static int host[WORDS];
  int *out, blocks = 0, least = 0, threads = 0;
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, reverse));
  CHECK(attributes.sharedSizeBytes == 128);
  CHECK(attributes.maxThreadsPerBlock == 256);
  CHECK(attributes.ptxVersion == 90);
  CUDA(cudaMalloc(&out, sizeof host));
  reverse<<<1, 256, WORDS * 4>>>(out, WORDS);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, WORDS * 4));
  CUDA(cudaFuncGetAttributes(&attributes, reverse));
  CHECK(attributes.maxDynamicSharedSizeBytes == WORDS * 4);
  reverse<<<1, 256, WORDS * 4>>>(out, WORDS);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < WORDS; i++) CHECK(host[i] == WORDS - 1 - i);

  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, WORDS * 4));
  CHECK(blocks == 2);  // 228 KB a multiprocessor, 79 KB a block, with the 1 KB that the system takes
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 1024, 0));
  CHECK(blocks == 2);  // 2048 threads
  CUDA(cudaOccupancyMaxPotentialBlockSize(&least, &threads, plain));
  CHECK(threads == 1024 && least > 0);
  size_t bytes = 0;
  CUDA(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, 2, 1024));
  CHECK(bytes > 48 * 1024);
  CUDA(cudaFuncSetCacheConfig(plain, cudaFuncCachePreferShared));
  return verdict();
}
