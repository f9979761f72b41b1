// Tiled, coalesced, labelled and binary groups of cooperative_groups: sums, scans, copies, votes.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void k(int *o, int *q, const int *src) {
  auto b = cg::this_thread_block();
  auto t = cg::tiled_partition<16>(b);
  int v = b.thread_rank();
  o[v] = cg::reduce(t, v, cg::plus<int>());
  o[256 + v] = cg::inclusive_scan(t, v);
  o[512 + v] = cg::exclusive_scan(t, v, cg::greater<int>());
  if (v % 3 == 0) {
    auto c = cg::coalesced_threads();
    o[768 + v] = c.thread_rank() * 100 + c.size();
  }
  auto lab = cg::labeled_partition(t, v % 4);
  o[1024 + v] = lab.size() * 100 + lab.thread_rank();
  auto bin = cg::binary_partition(t, v % 5 == 0);
  o[1280 + v] = bin.size();
  __shared__ int s[256];
  cg::memcpy_async(b, s, src, sizeof(int) * 256);
  cg::wait(b);
  q[v] = s[255 - v];
  auto big = cg::tiled_partition<32>(b);
  o[1536 + v] = big.shfl_xor(v, 5) + big.any(v == 40) * 1000 + big.match_any(v / 4 % 2);
}

int main() {
  auto o = managed<int>(2048);
  auto q = managed<int>(256);
  auto s = managed<int>(256);
  for (int i = 0; i < 256; i++) s[i] = i * 7;
  for (int i = 0; i < 2048; i++) o[i] = 0;
  k<<<1, 256>>>(o, q, s);
  CUDA(cudaDeviceSynchronize());
  for (int v = 0; v < 256; v++) {
    int g = v / 16 * 16;
    int sum = 0, inc = 0, mx = -2147483648;
    for (int i = g; i < g + 16; i++) sum += i;
    for (int i = g; i <= v; i++) inc += i;
    CHECK(o[v] == sum);
    CHECK(o[256 + v] == inc);
    mx = v == g ? o[512 + v] : v - 1;
    CHECK(o[512 + v] == mx);
    if (v % 3 == 0) {
      int w = v / 32 * 32, r = 0, c = 0;
      for (int i = w; i < w + 32; i++)
        if (i % 3 == 0) {
          if (i < v) r++;
          c++;
        }
      CHECK(o[768 + v] == r * 100 + c);
    }
    CHECK(o[1024 + v] == 400 + (v % 16) / 4);
    int c = 0;
    for (int i = g; i < g + 16; i++) c += (i % 5 == 0) == (v % 5 == 0);
    CHECK(o[1280 + v] == c);
    CHECK(q[v] == (255 - v) * 7);
    unsigned m = 0;
    int w = v / 32 * 32;
    for (int i = 0; i < 32; i++)
      if ((w + i) / 4 % 2 == v / 4 % 2) m |= 1u << i;
    CHECK((unsigned)o[1536 + v] == (unsigned)((v ^ 5) + (v / 32 == 1) * 1000) + m);
  }
  return verdict();
}
