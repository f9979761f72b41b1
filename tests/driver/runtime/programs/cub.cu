// CUB: reduction, scan and radix sort of a device; reduction and scan of a block.
#include <cub/cub.cuh>

#include <algorithm>
#include <vector>

#include "check.h"

__global__ void block_scan(const int *in, int *out, int *total) {
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ union {
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
  } shared;
  int mine = in[threadIdx.x], before;
  Scan(shared.scan).ExclusiveSum(mine, before);
  out[threadIdx.x] = before;
  __syncthreads();
  int sum = Reduce(shared.reduce).Sum(mine);
  if (!threadIdx.x) *total = sum;
}

template <typename Call>
static void with_storage(Call call) {
  void *storage = nullptr;
  size_t bytes = 0;
  CUDA(call(storage, bytes));
  CUDA(cudaMalloc(&storage, bytes));
  CUDA(call(storage, bytes));
  CUDA(cudaFree(storage));
}

int main() {
  const int N = 5000;
  std::vector<int> host(N), back(N);
  for (int i = 0; i < N; i++) host[i] = i * 40503 % 9973;
  int *in, *out, *total, sum = 0, result;
  CUDA(cudaMalloc(&in, N * 4));
  CUDA(cudaMalloc(&out, N * 4));
  CUDA(cudaMalloc(&total, 4));
  CUDA(cudaMemcpy(in, host.data(), N * 4, cudaMemcpyHostToDevice));
  for (int each : host) sum += each;
  with_storage([&](void *storage, size_t &bytes) { return cub::DeviceReduce::Sum(storage, bytes, in, total, N); });
  CUDA(cudaMemcpy(&result, total, 4, cudaMemcpyDeviceToHost));
  CHECK(result == sum);
  with_storage([&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, in, out, N); });
  CUDA(cudaMemcpy(back.data(), out, N * 4, cudaMemcpyDeviceToHost));
  for (int i = 0, before = 0; i < N; before += host[i++]) CHECK(back[i] == before);
  with_storage(
      [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(storage, bytes, in, out, N); });
  CUDA(cudaMemcpy(back.data(), out, N * 4, cudaMemcpyDeviceToHost));
  std::vector<int> sorted = host;
  std::sort(sorted.begin(), sorted.end());
  CHECK(back == sorted);
  block_scan<<<1, 128>>>(in, out, total);
  CUDA(cudaMemcpy(back.data(), out, 128 * 4, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(&result, total, 4, cudaMemcpyDeviceToHost));
  int before = 0;
  for (int i = 0; i < 128; before += host[i++]) CHECK(back[i] == before);
  CHECK(result == before);
  return verdict();
}
