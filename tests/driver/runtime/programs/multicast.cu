// A multicast object of one device: multimem instructions by its address, ordinary ones by the memory's own.
#include <cuda.h>
#include <dlfcn.h>
#include "check.h"

#define NAMED(name) static auto *name##_ = (decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name);
NAMED(cuMemAddressReserve)
NAMED(cuMemAddressFree)
NAMED(cuMemCreate)
NAMED(cuMemRelease)
NAMED(cuMemMap)
NAMED(cuMemUnmap)
NAMED(cuMemSetAccess)
NAMED(cuMulticastCreate)
NAMED(cuMulticastAddDevice)
NAMED(cuMulticastBindMem)
NAMED(cuMulticastBindAddr)
NAMED(cuMulticastUnbind)
NAMED(cuMulticastGetGranularity)

__device__ unsigned sum_of(const unsigned *multimem) {
  unsigned sum;
  asm volatile("multimem.ld_reduce.relaxed.gpu.global.add.u32 %0, [%1];" : "=r"(sum) : "l"(multimem) : "memory");
  return sum;
}

// Threads write by the memory's address, tell of it by the multimem address, and the last block reads by that.
__global__ void hand_over(unsigned *memory, unsigned *multimem, unsigned *out) {
  __shared__ bool is_last;
  unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
  memory[1024 + me] = me;
  __syncthreads();
  if (!threadIdx.x) {
    asm volatile("multimem.red.release.gpu.global.add.u32 [%0], 1;" ::"l"(multimem) : "memory");
    if (!blockIdx.x)
      for (unsigned seen = 0; seen != gridDim.x;)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(memory) : "memory");
    is_last = !blockIdx.x;
  }
  __syncthreads();
  if (!is_last) return;
  for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) out[i] = sum_of(multimem + 1024 + i);
  asm volatile("multimem.st.weak.global.u32 [%0], %1;" ::"l"(multimem + 512 + threadIdx.x), "r"(3 * threadIdx.x) : "memory");
}

__global__ void read_one(unsigned *multimem, unsigned *out) { *out = sum_of(multimem); }

// What is refused with a sentence: several devices, and memory before the device.
int refusals() {
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED, of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmulticastObjectProp team = {};
  team.numDevices = 2, team.size = 2 << 20;
  CUmemGenericAllocationHandle object, memory;
  CHECK(cuMulticastCreate_(&object, &team) == CUDA_ERROR_NOT_SUPPORTED);
  team.numDevices = 1;
  CHECK(!cuMulticastCreate_(&object, &team) && !cuMemCreate_(&memory, team.size, &of, 0));
  CHECK(cuMulticastBindMem_(object, 0, memory, 0, team.size, 0) == CUDA_ERROR_ILLEGAL_STATE);
  return verdict();
}

int main(int count, char **) {
  CUDA(cudaFree(nullptr));
  if (count > 1) return refusals();
  int has = 0;
  CUDA(cudaDeviceGetAttribute(&has, (cudaDeviceAttr)132, 0));
  CHECK(has == 1);
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED, of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {of.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmulticastObjectProp team = {};
  team.numDevices = 1, team.size = 4 << 20;
  size_t unit = 0;
  CHECK(!cuMulticastGetGranularity_(&unit, &team, CU_MULTICAST_GRANULARITY_MINIMUM) && team.size == 2 * unit);
  CUmemGenericAllocationHandle object, a, b;
  CHECK(cuMulticastCreate_(&object, nullptr) == CUDA_ERROR_INVALID_VALUE);
  team.size += 1;
  CHECK(cuMulticastCreate_(&object, &team) == CUDA_ERROR_INVALID_VALUE);
  team.size -= 1;
  CHECK(!cuMulticastCreate_(&object, &team) && !cuMulticastAddDevice_(object, 0));
  CHECK(cuMulticastAddDevice_(object, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMulticastAddDevice_(object, 1) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(!cuMemCreate_(&a, unit, &of, 0) && !cuMemCreate_(&b, unit, &of, 0));
  CHECK(cuMulticastBindMem_(a, 0, b, 0, unit, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMulticastBindMem_(object, 2 * unit, a, 0, unit, 0) == CUDA_ERROR_INVALID_VALUE);  // past its end
  CHECK(!cuMulticastBindMem_(object, unit, a, 0, unit, 0));
  CHECK(cuMulticastBindMem_(object, unit, b, 0, unit, 0) == CUDA_ERROR_INVALID_VALUE);  // something is bound there
  CUdeviceptr memory, other, multimem;
  CHECK(!cuMemAddressReserve_(&memory, unit, 0, 0, 0) && !cuMemAddressReserve_(&other, unit, 0, 0, 0));
  CHECK(!cuMemAddressReserve_(&multimem, 2 * unit, 0, 0, 0));
  CHECK(!cuMemMap_(memory, unit, 0, a, 0) && !cuMemSetAccess_(memory, unit, &access, 1));
  CHECK(!cuMemMap_(other, unit, 0, b, 0) && !cuMemSetAccess_(other, unit, &access, 1));
  CHECK(!cuMulticastBindAddr_(object, 0, other, unit, 0));
  CHECK(!cuMemMap_(multimem, 2 * unit, 0, object, 0) && !cuMemSetAccess_(multimem, 2 * unit, &access, 1));
  CUDA(cudaMemset((void *)memory, 0, 4));
  unsigned *out, host[256], value = 1234;
  CUDA(cudaMalloc(&out, sizeof host));
  hand_over<<<4, 64>>>((unsigned *)memory, (unsigned *)(multimem + unit), out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 256; ++i) CHECK(host[i] == i);
  CUDA(cudaMemcpy(host, (void *)(memory + 2048), 256, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 64; ++i) CHECK(host[i] == 3 * i);
  // The other half of the object has the other memory; a handle may go before what is bound.
  CUDA(cudaMemcpy((void *)(other + 64), &value, 4, cudaMemcpyHostToDevice));
  CHECK(!cuMemRelease_(a) && !cuMemRelease_(b));
  read_one<<<1, 1>>>((unsigned *)(multimem + 64), out);
  CUDA(cudaMemcpy(host, out, 4, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 1234);
  CHECK(cudaMemset((void *)multimem, 0, 4) == cudaErrorInvalidValue);  // nothing but multimem instructions may use it
  CHECK(cuMulticastUnbind_(object, 0, 0, 2 * unit) == CUDA_ERROR_INVALID_VALUE);
  CHECK(!cuMulticastUnbind_(object, 0, 0, unit) && !cuMemUnmap_(other, unit) && !cuMemAddressFree_(other, unit));
  CHECK(!cuMemRelease_(object) && cuMemRelease_(object) == CUDA_ERROR_INVALID_VALUE);
  CHECK(!cuMemUnmap_(multimem, 2 * unit) && !cuMemUnmap_(memory, unit));
  CHECK(!cuMemAddressFree_(multimem, 2 * unit) && !cuMemAddressFree_(memory, unit));
  return verdict();
}
