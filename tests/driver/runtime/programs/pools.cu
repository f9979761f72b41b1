// Allocations in the order of streams: pools, attributes, reuse, use in other streams, errors.
#include "check.h"
__global__ void fill(int *p, int n, int x) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = x + i;
}
__global__ void sum(const int *p, int n, int *o) {
  int s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += p[i];
  atomicAdd(o, s);
}
int main() {
  int supported;
  CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  CHECK(supported == 1);
  cudaStream_t s, t;
  CUDA(cudaStreamCreate(&s));
  CUDA(cudaStreamCreate(&t));
  cudaEvent_t e;
  CUDA(cudaEventCreate(&e));
  int *o = managed<int>(1), *p;
  *o = 0;
  CUDA(cudaMallocAsync(&p, 4000, s));
  fill<<<4, 64, 0, s>>>(p, 1000, 1);
  CUDA(cudaEventRecord(e, s));
  CUDA(cudaStreamWaitEvent(t, e));
  sum<<<1, 64, 0, t>>>(p, 1000, o);
  CUDA(cudaFreeAsync(p, t));
  CUDA(cudaDeviceSynchronize());
  CHECK(*o == 500500);
  cudaMemPool_t pool, own;
  CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long keep = ~0ull, got = 0, used = 9;
  CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
  CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(got == keep && used == 0);
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned, props.location.type = cudaMemLocationTypeDevice, props.location.id = 0;
  props.handleTypes = cudaMemHandleTypeNone;
  CUDA(cudaMemPoolCreate(&own, &props));
  int *q[10];
  for (auto &each : q) CUDA(cudaMallocFromPoolAsync(&each, 1 << 16, own, s));
  CUDA(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 10 << 16);
  CUDA(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &got));
  CHECK(got >= used);
  for (auto each : q) CUDA(cudaMemsetAsync(each, 1, 1 << 16, s));
  for (auto each : q) CUDA(cudaFreeAsync(each, s));
  CUDA(cudaStreamSynchronize(s));
  CUDA(cudaMemPoolTrimTo(own, 0));
  CUDA(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &got));
  CHECK(got == 0);
  CUDA(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemHigh, &used));
  CHECK(used == 10 << 16);
  CUDA(cudaDeviceSetMemPool(0, own));
  cudaMemPool_t current;
  CUDA(cudaDeviceGetMemPool(&current, 0));
  CHECK(current == own);
  CUDA(cudaMallocAsync(&p, 128, s));
  cudaPointerAttributes a;
  CUDA(cudaPointerGetAttributes(&a, p));
  CHECK(a.type == cudaMemoryTypeDevice);
  CUDA(cudaFreeAsync(p, s));
  CUDA(cudaStreamSynchronize(s));
  CUDA(cudaMallocAsync(&p, 128, s));
  CUDA(cudaStreamSynchronize(s));
  CUDA(cudaFree(p));
  CUDA(cudaDeviceSetMemPool(0, pool));
  CUDA(cudaMemPoolDestroy(own));
  CUDA(cudaMallocAsync(&p, 0, s));
  FAILS(cudaMallocAsync(&p, 1ull << 50, s), cudaErrorMemoryAllocation);
  cudaGetLastError();
  int host[100];
  CUDA(cudaMallocAsync(&p, 400, s));
  fill<<<1, 100, 0, s>>>(p, 100, 7);
  CUDA(cudaMemcpyAsync(host, p, 400, cudaMemcpyDeviceToHost, s));
  CUDA(cudaFreeAsync(p, s));
  CUDA(cudaStreamSynchronize(s));
  CHECK(host[0] == 7 && host[99] == 106);
  return verdict();
}
