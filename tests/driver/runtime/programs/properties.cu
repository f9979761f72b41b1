// Devices: count, properties beside attributes, limits, versions, reset.
#include "check.h"

int main() {
  int count = 0, version = 0, current = -1, value = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(count >= 1);
  CUDA(cudaRuntimeGetVersion(&version));
  CHECK(version / 1000 == CUDART_VERSION / 1000);
  CUDA(cudaDriverGetVersion(&value));
  CHECK(value >= version);
  CUDA(cudaGetDevice(&current));
  CHECK(current == 0);
  FAILS(cudaSetDevice(count), cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CUDA(cudaSetDevice(0));

  cudaDeviceProp properties;
  memset(&properties, 0xAA, sizeof properties);
  CUDA(cudaGetDeviceProperties(&properties, 0));
  CHECK(strlen(properties.name) > 0);
  CHECK(properties.totalGlobalMem > (1u << 30));
  struct {
    long value;
    cudaDeviceAttr attribute;
  } rows[] = {
      {properties.warpSize, cudaDevAttrWarpSize},
      {properties.major, cudaDevAttrComputeCapabilityMajor},
      {properties.minor, cudaDevAttrComputeCapabilityMinor},
      {properties.multiProcessorCount, cudaDevAttrMultiProcessorCount},
      {properties.maxThreadsDim[0], cudaDevAttrMaxBlockDimX},
      {properties.maxThreadsDim[2], cudaDevAttrMaxBlockDimZ},
      {properties.maxGridSize[1], cudaDevAttrMaxGridDimY},
      {(long)properties.sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock},
      {(long)properties.sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {(long)properties.sharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {(long)properties.reservedSharedMemPerBlock, cudaDevAttrReservedSharedMemoryPerBlock},
      {(long)properties.totalConstMem, cudaDevAttrTotalConstantMemory},
      {properties.l2CacheSize, cudaDevAttrL2CacheSize},
      {properties.regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
      {properties.maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor},
      {properties.maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor},
      {properties.cooperativeLaunch, cudaDevAttrCooperativeLaunch},
      {properties.clusterLaunch, cudaDevAttrClusterLaunch},
      {properties.memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported},
      {properties.managedMemory, cudaDevAttrManagedMemory},
  };
  for (auto &row : rows) {
    CUDA(cudaDeviceGetAttribute(&value, row.attribute, 0));
    if (value != row.value) printf("attribute %d: %d, but the property is %ld\n", row.attribute, value, row.value);
    CHECK(value == row.value);
  }
  CHECK(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
  CHECK(properties.reserved[0] == 0);
  size_t free_bytes, total_bytes, limit;
  CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  CHECK(free_bytes <= total_bytes && total_bytes == properties.totalGlobalMem);
  CUDA(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 << 20));
  CUDA(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  CHECK(limit == 4 << 20);
  void *memory;
  CUDA(cudaMalloc(&memory, 100));
  CUDA(cudaDeviceReset());
  CUDA(cudaMalloc(&memory, 100));
  CUDA(cudaFree(memory));
  return verdict();
}
