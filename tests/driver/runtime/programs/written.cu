// Memory of the device that is read after it was written in some way, and unwritten memory that is only copied.
#include <cuda/ptx>
#include <mma.h>
#include <vector>
#include "check.h"

struct Padded {
  char tag;
  double value;
  short last;
};
__global__ void make(Padded *rows) { rows[threadIdx.x].tag = 'a', rows[threadIdx.x].value = threadIdx.x, rows[threadIdx.x].last = 3; }
__global__ void pass(const Padded *from, Padded *to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void count(const Padded *rows, int *sum) {
  Padded row = rows[threadIdx.x];
  if (row.tag == 'a' && row.value == threadIdx.x && row.last == 3) atomicAdd(sum, 1);
}
// Rows of three are loaded as four.
__global__ void first_three(const float4 *rows, float *out) {
  float4 row = rows[threadIdx.x];
  out[threadIdx.x] = row.x + row.y + row.z;
}
__global__ void three(float *rows) {
  for (int i = 0; i < 3; i++) rows[4 * threadIdx.x + i] = i;
}
__global__ void both(const float *a, float *out, int n) {
  float value = a[threadIdx.x];  // loaded for all, used by some
  if (threadIdx.x < n) out[threadIdx.x] = value * 2;
}
__global__ void bulk(int *out) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x] = threadIdx.x;
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, 512);
    cuda::ptx::cp_async_bulk_commit_group();
    cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());
  }
}
__global__ void identity(float *out) {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
  nvcuda::wmma::fill_fragment(sum, 1.0f);
  nvcuda::wmma::store_matrix_sync(out, sum, 16, nvcuda::wmma::mem_row_major);
}
__global__ void swap_in(int *words) { atomicExch(&words[threadIdx.x], threadIdx.x); }
__global__ void texels(cudaSurfaceObject_t surface) { surf1Dwrite((int)threadIdx.x, surface, threadIdx.x * 4); }
__global__ void checked(const int *words, int *sum) {
  if (words[threadIdx.x] == (int)threadIdx.x) atomicAdd(sum, 1);
}
__global__ void ones(const float *values, int n, int *sum) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (values[i] == 1) atomicAdd(sum, 1);
}
__device__ int variable[128];

template <class T> static T *fresh(size_t count) {
  T *memory;
  CUDA(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

int main() {
  int *sum = managed<int>(8);
  auto *rows = fresh<Padded>(64), *again = fresh<Padded>(64), *last = fresh<Padded>(64);
  make<<<1, 64>>>(rows);
  pass<<<1, 64>>>(rows, again);
  CUDA(cudaMemcpy(last, again, 64 * sizeof(Padded), cudaMemcpyDeviceToDevice));
  count<<<1, 64>>>(last, sum);
  auto *four = fresh<float>(256), *out = fresh<float>(256);
  three<<<1, 64>>>(four);
  first_three<<<1, 64>>>((float4 *)four, out);
  both<<<1, 64>>>(four, out, 3);
  auto *words = fresh<int>(128);
  bulk<<<1, 128>>>(words);
  checked<<<1, 128>>>(words, sum + 1);
  CUDA(cudaFree(words));
  words = fresh<int>(128);
  swap_in<<<1, 128>>>(words);
  checked<<<1, 128>>>(words, sum + 2);
  identity<<<1, 32>>>(out);
  ones<<<1, 64>>>(out, 256, sum + 3);

  cudaArray_t array;
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<int>();
  CUDA(cudaMallocArray(&array, &channel, 128, 0, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateSurfaceObject(&surface, &resource));
  texels<<<1, 128>>>(surface);
  int *copied = fresh<int>(128);
  CUDA(cudaMemcpy2DFromArray(copied, 512, array, 0, 0, 512, 1, cudaMemcpyDeviceToDevice));
  checked<<<1, 128>>>(copied, sum + 4);

  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  int *pooled, *pinned;
  CUDA(cudaMallocHost(&pinned, 512));
  for (int i = 0; i < 128; i++) pinned[i] = i;
  for (int round = 0; round < 3; round++) {
    CUDA(cudaMallocAsync(&pooled, 512, stream));
    CUDA(cudaMemcpyAsync(pooled, pinned, 512, cudaMemcpyHostToDevice, stream));
    checked<<<1, 128, 0, stream>>>(pooled, sum + 5);
    CUDA(cudaFreeAsync(pooled, stream));
  }
  float *pitched;
  size_t pitch;
  CUDA(cudaMallocPitch(&pitched, &pitch, 12, 16));
  std::vector<float> host(48, 1.0f);
  CUDA(cudaMemcpy2D(pitched, pitch, host.data(), 12, 12, 16, cudaMemcpyHostToDevice));
  for (int row = 0; row < 16; row++) ones<<<1, 3>>>((float *)((char *)pitched + row * pitch), 3, sum + 6);
  CUDA(cudaMemcpyToSymbol(variable, pinned, 512));
  int *at;
  CUDA(cudaGetSymbolAddress((void **)&at, variable));
  CUDA(cudaMemcpy(copied, at, 512, cudaMemcpyDeviceToDevice));
  checked<<<1, 128>>>(copied, sum + 7);
  CUDA(cudaDeviceSynchronize());
  int expected[] = {64, 128, 128, 256, 128, 384, 48, 128};
  for (int i = 0; i < 8; i++) CHECK(sum[i] == expected[i]);
  return verdict();
}
