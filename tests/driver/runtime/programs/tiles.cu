// Cooperative groups: reductions and scans of tiles, of coalesced threads and of partitions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "check.h"
namespace cg = cooperative_groups;

template <int N>
__global__ void tiles(int *o) {
  auto tile = cg::tiled_partition<N>(cg::this_thread_block());
  int x = threadIdx.x * 7 % 31;
  int *r = o + threadIdx.x * 10;
  r[0] = cg::reduce(tile, x, cg::plus<int>());
  r[1] = cg::reduce(tile, x, cg::less<int>());
  r[2] = cg::reduce(tile, x, cg::greater<int>());
  r[3] = cg::reduce(tile, x, cg::bit_xor<int>());
  r[4] = cg::inclusive_scan(tile, x);
  r[5] = cg::exclusive_scan(tile, x, cg::plus<int>());
  r[6] = cg::inclusive_scan(tile, x, cg::greater<int>());
  r[7] = tile.meta_group_rank() * 100 + tile.meta_group_size();
  r[8] = tile.any(x == 30) + 2 * tile.all(x < 31);
  r[9] = (int)(cg::reduce(tile, x * 0.5, [](double a, double b) { return a + b; }) * 2);
}

template <int N>
static void check_tiles(int *o) {
  tiles<N><<<1, 96>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 96; t++) {
    int first = t / N * N, sum = 0, low = 99, high = -1, bits = 0, inc = 0, most = -1;
    bool any = false;
    for (int i = first; i < first + N; i++) {
      int x = i * 7 % 31;
      sum += x, bits ^= x, low = x < low ? x : low, high = x > high ? x : high, any |= x == 30;
      if (i <= t) inc += x, most = x > most ? x : most;
    }
    int *r = o + t * 10;
    CHECK(r[0] == sum && r[1] == low && r[2] == high && r[3] == bits);
    CHECK(r[4] == inc && r[5] == inc - t * 7 % 31 && r[6] == most);
    CHECK(r[7] == t / N * 100 + 96 / N && r[8] == any + 2 && r[9] == sum);
  }
}

__global__ void partitions(int *o) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int t = threadIdx.x, *r = o + t * 8;
  auto halves = cg::binary_partition(warp, t % 3 == 0);
  r[0] = halves.size();
  r[1] = cg::reduce(halves, t, cg::plus<int>());
  auto labels = cg::labeled_partition(warp, t % 5);
  r[2] = labels.size();
  r[3] = cg::exclusive_scan(labels, 1);
  r[4] = labels.thread_rank();
  if (t % 4 == 1) {
    auto active = cg::coalesced_threads();
    r[5] = active.size() > active.thread_rank();  // these may be fewer than those that come here
    r[6] = cg::reduce(active, t, cg::plus<int>()) >= t;
    r[7] = active.shfl(t, 0);
  }
}

int main() {
  auto o = managed<int>(2048);
  check_tiles<1>(o);
  check_tiles<2>(o);
  check_tiles<4>(o);
  check_tiles<8>(o);
  check_tiles<16>(o);
  check_tiles<32>(o);
  partitions<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++) {
    int size = 0, sum = 0, same = 0, before = 0, w = t / 32 * 32, *r = o + t * 8;
    for (int i = w; i < w + 32; i++) {
      if ((i % 3 == 0) == (t % 3 == 0)) size++, sum += i;
      if (i % 5 == t % 5) same++, before += i < t;
    }
    CHECK(r[0] == size && r[1] == sum && r[2] == same && r[3] == before && r[4] == before);
    if (t % 4 == 1) { CHECK(r[5] == 1 && r[6] == 1 && r[7] >= w && r[7] <= t && r[7] % 4 == 1); }
  }
  return verdict();
}
