// Functions of the driver by name; a kernel as cudaKernel_t; a library of PTX loaded by the program.
#include "check.h"

__global__ void twice(int *p) { p[threadIdx.x] *= 2; }

static const char PTX[] = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 bias = 5;
.visible .entry plus(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %x, %b;
  ld.param.u64 %a, [p];
  ld.global.u32 %x, [%a];
  ld.global.u32 %b, [bias];
  add.u32 %x, %x, %b;
  st.global.u32 [%a], %x;
  ret;
}
)";

int main() {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult status;
  CUDA(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", &function, 12000, cudaEnableDefault, &status));
  int version = 0;
  CHECK(status == cudaDriverEntryPointSuccess && function && !((int (*)(int *))function)(&version));
  CHECK(version >= CUDART_VERSION / 1000 * 1000);
  CUDA(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12000, cudaEnableDefault, &status));
  CHECK(status == cudaDriverEntryPointSymbolNotFound && !function);

  int *device, host[4] = {1, 2, 3, 4};
  CUDA(cudaMalloc(&device, 16));
  CUDA(cudaMemcpy(device, host, 16, cudaMemcpyHostToDevice));
  cudaLibrary_t library;
  cudaKernel_t plus, kernel;
  CUDA(cudaLibraryLoadData(&library, PTX, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUDA(cudaLibraryGetKernel(&plus, library, "plus"));
  void *arguments[] = {&device};
  CUDA(cudaLaunchKernel((void *)plus, dim3(1), dim3(1), arguments, 0, 0));
  CUDA(cudaGetKernel(&kernel, (const void *)twice));
  CHECK(kernel != nullptr);
  twice<<<1, 4>>>(device);
  CUDA(cudaMemcpy(host, device, 16, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 12 && host[1] == 4 && host[2] == 6 && host[3] == 8);
  void *bias;
  size_t bytes;
  CUDA(cudaLibraryGetGlobal(&bias, &bytes, library, "bias"));
  CHECK(bytes == 4);
  FAILS(cudaLibraryGetKernel(&plus, library, "minus"), cudaErrorSymbolNotFound);
  CUDA(cudaLibraryUnload(library));
  return verdict();
}
