// CUB's collectives of a block and of a warp.
#include <algorithm>
#include <cub/cub.cuh>
#include <vector>
#include "check.h"

constexpr int T = 64, I = 4;

__global__ void sorts(const int *in, int *sorted, int *pairs, int *merged, int *heads, int *histogram) {
  using Load = cub::BlockLoad<int, T, I, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, T, I, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, T, I>;
  using Pairs = cub::BlockRadixSort<int, T, I, int>;
  using Merge = cub::BlockMergeSort<int, T, I>;
  using Flags = cub::BlockDiscontinuity<int, T>;
  using Histogram = cub::BlockHistogram<int, T, I, 16>;
  __shared__ union {
    Load::TempStorage load;
    Store::TempStorage store;
    Sort::TempStorage sort;
    Pairs::TempStorage pairs;
    Merge::TempStorage merge;
    Flags::TempStorage flags;
    Histogram::TempStorage histogram;
  } s;
  __shared__ int bins[16];
  int k[I], v[I], f[I];
  Load(s.load).Load(in, k);
  __syncthreads();
  Sort(s.sort).Sort(k);
  __syncthreads();
  Flags(s.flags).FlagHeads(f, k, cuda::std::not_equal_to<>());
  __syncthreads();
  Store(s.store).Store(sorted, k);
  __syncthreads();
  Store(s.store).Store(heads, f);
  __syncthreads();
  Load(s.load).Load(in, k);
  for (int i = 0; i < I; i++) v[i] = threadIdx.x * I + i;
  __syncthreads();
  Pairs(s.pairs).SortDescending(k, v);
  __syncthreads();
  Store(s.store).Store(pairs, v);
  __syncthreads();
  Load(s.load).Load(in, k);
  __syncthreads();
  Merge(s.merge).StableSort(k, [](int a, int b) { return a % 10 < b % 10; });
  __syncthreads();
  Store(s.store).Store(merged, k);
  __syncthreads();
  for (int i = 0; i < I; i++) k[i] %= 16;
  Histogram(s.histogram).Histogram(k, bins);
  __syncthreads();
  if (threadIdx.x < 16) histogram[threadIdx.x] = bins[threadIdx.x];
}

__global__ void warps(const int *in, int *o) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int>;
  using Sort = cub::WarpMergeSort<int, 2, 32>;
  __shared__ Reduce::TempStorage r[2];
  __shared__ Scan::TempStorage sc[2];
  __shared__ Sort::TempStorage so[2];
  int w = threadIdx.x / 32, x = in[threadIdx.x];
  int sum = Reduce(r[w]).Sum(x);
  __syncwarp();
  int high = Reduce(r[w]).Reduce(x, cuda::maximum<>{}, 20);
  int exclusive, total;
  Scan(sc[w]).ExclusiveSum(x, exclusive, total);
  int seg = Reduce(r[w]).HeadSegmentedSum(x, threadIdx.x % 8 == 0);
  int k[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]};
  Sort(so[w]).Sort(k, cuda::std::less<>{});
  int *p = o + threadIdx.x * 7;
  p[0] = sum, p[1] = high, p[2] = exclusive, p[3] = total, p[4] = seg, p[5] = k[0], p[6] = k[1];
}

int main() {
  std::vector<int> h(256);
  int *in = managed<int>(256), *s = managed<int>(256), *p = managed<int>(256), *m = managed<int>(256),
      *f = managed<int>(256), *b = managed<int>(16), *o = managed<int>(64 * 7);
  for (int i = 0; i < 256; i++) h[i] = in[i] = (i * 7919 + 13) % 97;
  sorts<<<1, T>>>(in, s, p, m, f, b);
  CUDA(cudaDeviceSynchronize());
  auto sorted = h;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::equal(sorted.begin(), sorted.end(), s));
  for (int i = 0; i < 256; i++) CHECK(f[i] == (i == 0 || sorted[i] != sorted[i - 1]));
  std::vector<int> order(256);
  for (int i = 0; i < 256; i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return h[a] > h[b]; });
  CHECK(std::equal(order.begin(), order.end(), p));
  auto merged = h;
  std::stable_sort(merged.begin(), merged.end(), [](int a, int b) { return a % 10 < b % 10; });
  CHECK(std::equal(merged.begin(), merged.end(), m));
  for (int i = 0; i < 16; i++) CHECK(b[i] == std::count_if(h.begin(), h.end(), [&](int x) { return x % 16 == i; }));
  warps<<<1, 64>>>(in, o);
  CUDA(cudaDeviceSynchronize());
  for (int w = 0; w < 2; w++) {
    int total = 0, high = 0;
    for (int i = 0; i < 32; i++) total += h[w * 32 + i];
    for (int i = 0; i < 20; i++) high = std::max(high, h[w * 32 + i]);
    std::vector<int> part(h.begin() + w * 64, h.begin() + w * 64 + 64);
    std::sort(part.begin(), part.end());
    int before = 0;
    for (int i = 0; i < 32; i++) {
      int *r = o + (w * 32 + i) * 7;
      if (i == 0) CHECK(r[0] == total && r[1] == high);
      CHECK(r[2] == before && r[3] == total);
      if (i % 8 == 0)
        CHECK(r[4] == h[w * 32 + i] + h[w * 32 + i + 1] + h[w * 32 + i + 2] + h[w * 32 + i + 3] + h[w * 32 + i + 4] +
                          h[w * 32 + i + 5] + h[w * 32 + i + 6] + h[w * 32 + i + 7]);
      CHECK(r[5] == part[i * 2] && r[6] == part[i * 2 + 1]);
      before += h[w * 32 + i];
    }
  }
  return verdict();
}
