// Cooperative groups of several warps, which meet in shared memory that the system reserves.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void big(int *o) {
  __shared__ int own[256];  // of the kernel: nobody else writes there
  own[threadIdx.x] = threadIdx.x;
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<128>(block);
  int x = threadIdx.x;
  o[x * 3] = cg::reduce(tile, x, cg::plus<int>());
  o[x * 3 + 1] = cg::inclusive_scan(tile, x, cg::plus<int>());
  tile.sync();
  o[x * 3 + 2] = tile.shfl(x, 77) + tile.thread_rank();
  if (own[x] != x) o[769] = 0;
  int once = 0;
  cg::invoke_one(block, [&] { once = 1; });
  int n = __syncthreads_count(once);
  if (x == 0) o[256 * 3] = n;
}

int main() {
  auto o = managed<int>(770);
  o[769] = 1;
  big<<<1, 256>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 256; t++) {
    int f = t / 128 * 128, sum = 0, inc = 0;
    for (int i = f; i < f + 128; i++) sum += i, inc += i <= t ? i : 0;
    CHECK(o[t * 3] == sum && o[t * 3 + 1] == inc && o[t * 3 + 2] == f + 77 + t - f);
  }
  CHECK(o[768] == 1);
  CHECK(o[769] == 1);
  return verdict();
}
