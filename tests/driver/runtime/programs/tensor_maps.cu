// A tile there and back by a tensor map of cuTensorMapEncodeTiled.
// flags: -arch=sm_90a -std=c++17
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda/barrier>
#include "check.h"
using B = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

__global__ void k(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int x, int y) {
  __shared__ alignas(128) int s[32][32];
  __shared__ B bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  B::arrival_token t;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&s, &in, x, y, bar);
    t = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
  } else t = bar.arrive();
  bar.wait(std::move(t));
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i / 32][i % 32] += i;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&out, x, y, &s);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

int main() {
  const int W = 128, H = 96;
  auto a = managed<int>(W * H), o = managed<int>(W * H);
  for (int i = 0; i < W * H; i++) {
    a[i] = i * 3;
    o[i] = -1;
  }
  void *f;
  cudaDriverEntryPointQueryResult q;
  CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &q));
  CHECK(q == cudaDriverEntryPointSuccess);
  auto enc = (PFN_cuTensorMapEncodeTiled_v12000)f;
  CUtensorMap m[2];
  cuuint64_t dims[2] = {W, H}, st[1] = {W * 4};
  cuuint32_t box[2] = {32, 32}, es[2] = {1, 1};
  void *p[2] = {a, o};
  for (int i = 0; i < 2; i++)
    CHECK(enc(&m[i], CU_TENSOR_MAP_DATA_TYPE_INT32, 2, p[i], dims, st, box, es, CU_TENSOR_MAP_INTERLEAVE_NONE,
              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  k<<<1, 128>>>(m[0], m[1], 64, 32);
  CUDA(cudaDeviceSynchronize());
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      bool in = x >= 64 && x < 96 && y >= 32 && y < 64;
      CHECK(o[y * W + x] == (in ? a[y * W + x] + (y - 32) * 32 + x - 64 : -1));
    }
  return verdict();
}
