// Sorts, scans and reductions of CUB in a block, and of Thrust.
// flags: --extended-lambda
#include <thrust/device_vector.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <algorithm>
#include <cub/cub.cuh>
#include "check.h"

__global__ void blk(const int *a, int *o) {
  using R = cub::BlockRadixSort<int, 64, 4>;
  using S = cub::BlockScan<int, 64>;
  __shared__ union {
    R::TempStorage r;
    S::TempStorage s;
  } t;
  int v[4];
  for (int i = 0; i < 4; i++) v[i] = a[threadIdx.x * 4 + i];
  R(t.r).Sort(v);
  __syncthreads();
  int x = v[0], y;
  S(t.s).InclusiveSum(x, y);
  for (int i = 0; i < 4; i++) o[threadIdx.x * 4 + i] = v[i];
  o[256 + threadIdx.x] = y;
}

int main() {
  srand(3);
  std::vector<int> h(256);
  for (auto &x : h) x = rand() % 1000 - 500;
  auto a = managed<int>(256), o = managed<int>(320);
  std::copy(h.begin(), h.end(), a);
  blk<<<1, 64>>>(a, o);
  CUDA(cudaDeviceSynchronize());
  std::sort(h.begin(), h.end());
  int s = 0;
  for (int i = 0; i < 256; i++) CHECK(o[i] == h[i]);
  for (int i = 0; i < 64; i++) {
    s += h[4 * i];
    CHECK(o[256 + i] == s);
  }
  thrust::device_vector<int> v(a, a + 256);
  thrust::sort(v.begin(), v.end());
  std::vector<int> g(256);
  thrust::copy(v.begin(), v.end(), g.begin());
  CHECK(g == h);
  auto u = thrust::unique(v.begin(), v.end()) - v.begin();
  auto k = std::unique(h.begin(), h.end()) - h.begin();
  CHECK(u == k);
  long sum = thrust::transform_reduce(
      v.begin(), v.begin() + u, [] __host__ __device__(int x) { return (long)x * x; }, 0l, thrust::plus<long>());
  long w = 0;
  for (int i = 0; i < k; i++) w += (long)h[i] * h[i];
  CHECK(sum == w);
  return verdict();
}
