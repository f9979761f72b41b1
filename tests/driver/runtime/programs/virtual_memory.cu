// Memory that is mapped where the program chooses: neighbours, one memory at two places, growth, and what is refused.
#include <cuda.h>
#include <dlfcn.h>
#include "check.h"

#define NAMED(name) static auto *name##_ = (decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name);
NAMED(cuMemGetAllocationGranularity)
NAMED(cuMemAddressReserve)
NAMED(cuMemAddressFree)
NAMED(cuMemCreate)
NAMED(cuMemRelease)
NAMED(cuMemMap)
NAMED(cuMemUnmap)
NAMED(cuMemSetAccess)
NAMED(cuMemGetAccess)
NAMED(cuMemRetainAllocationHandle)
NAMED(cuMemGetAllocationPropertiesFromHandle)
NAMED(cuMemGetAddressRange_v2)
NAMED(cuMemFree_v2)

__global__ void count_up(int *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] += i;
}

int main() {
  CUDA(cudaFree(nullptr));
  int has = 0;
  CUDA(cudaDeviceGetAttribute(&has, (cudaDeviceAttr)102, 0));
  CHECK(has == 1);
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED, of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {of.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  size_t unit = 0;
  CHECK(!cuMemGetAllocationGranularity_(&unit, &of, CU_MEM_ALLOC_GRANULARITY_MINIMUM) && unit >= 65536);
  CUdeviceptr start, other;
  CHECK(!cuMemAddressReserve_(&start, 4 * unit, 0, 0, 0) && !cuMemAddressReserve_(&other, unit, 4 * unit, 0, 0));
  CHECK(other % (4 * unit) == 0);
  CHECK(cuMemAddressReserve_(&other, unit + 1, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle a, b, again;
  CHECK(!cuMemCreate_(&a, unit, &of, 0) && !cuMemCreate_(&b, 2 * unit, &of, 0));
  CHECK(!cuMemMap_(start, unit, 0, a, 0));
  CHECK(cuMemMap_(start, unit, 0, b, 0) == CUDA_ERROR_INVALID_VALUE);             // something is there
  CHECK(cuMemMap_(start + 3 * unit, 2 * unit, 0, b, 0) == CUDA_ERROR_INVALID_VALUE);  // past the reservation
  CHECK(cudaMemset((void *)start, 0, unit) == cudaErrorInvalidValue);             // nobody may use it yet
  CHECK(!cuMemSetAccess_(start, unit, &access, 1));
  int n = unit / 4;
  CUDA(cudaMemset((void *)start, 0, unit));
  count_up<<<4, 128>>>((int *)start, n);
  CUDA(cudaDeviceSynchronize());
  // It grows, and what was there stays.
  CHECK(!cuMemMap_(start + unit, 2 * unit, 0, b, 0) && !cuMemSetAccess_(start + unit, 2 * unit, &access, 1));
  CUDA(cudaMemset((void *)(start + unit), 0, 2 * unit));
  count_up<<<4, 128>>>((int *)start, 3 * n);
  static int host[3 << 20];
  CHECK(sizeof host >= 3 * unit);
  CUDA(cudaMemcpy(host, (void *)start, 3 * unit, cudaMemcpyDeviceToHost));
  CHECK(host[5] == 10 && host[n - 1] == 2 * (n - 1) && host[n] == n && host[3 * n - 1] == 3 * n - 1);
  CUdeviceptr whole;
  size_t bytes;
  CHECK(!cuMemGetAddressRange_v2_(&whole, &bytes, start + 2 * unit) && whole == start && bytes == 3 * unit);
  CHECK(cuMemFree_v2_(start) == CUDA_ERROR_INVALID_VALUE);
  // The same memory at another place.
  CHECK(!cuMemMap_(other, unit, 0, a, 0) && !cuMemSetAccess_(other, unit, &access, 1));
  count_up<<<4, 128>>>((int *)other, n);
  CUDA(cudaMemcpy(host, (void *)start, unit, cudaMemcpyDeviceToHost));
  CHECK(host[5] == 15);
  unsigned long long flags = 0;
  CHECK(!cuMemGetAccess_(&flags, &of.location, other) && flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(!cuMemRetainAllocationHandle_(&again, (void *)other) && again == a && !cuMemRelease_(again));
  CUmemAllocationProp told = {};
  CHECK(!cuMemGetAllocationPropertiesFromHandle_(&told, b) && told.type == of.type && told.location.id == 0);
  // A handle may go before its mapping; contents stay until the last mapping goes.
  CHECK(!cuMemRelease_(a) && !cuMemRelease_(b) && cuMemRelease_(b) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree_(start, 4 * unit) == CUDA_ERROR_INVALID_VALUE);  // mapped
  CHECK(!cuMemUnmap_(start, 3 * unit) && cuMemUnmap_(start, unit) == CUDA_ERROR_INVALID_VALUE);
  CUDA(cudaMemcpy(host, (void *)other, unit, cudaMemcpyDeviceToHost));
  CHECK(host[5] == 15 && cudaMemset((void *)start, 0, 4) == cudaErrorInvalidValue);
  CHECK(!cuMemUnmap_(other, unit) && !cuMemAddressFree_(other, unit) && !cuMemAddressFree_(start, 4 * unit));
  return verdict();
}
