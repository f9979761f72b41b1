// CUB's algorithms of a device that select, partition, encode, count and sort by segments.
// flags: --extended-lambda
#include <algorithm>
#include <cub/cub.cuh>
#include <map>
#include <vector>
#include "check.h"

template <typename Call>
static void with_storage(Call call) {
  void *storage = nullptr;
  size_t bytes = 0;
  CUDA(call(storage, bytes));
  CUDA(cudaMalloc(&storage, bytes));
  CUDA(call(storage, bytes));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(storage));
}
struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

int main() {
  const int N = 3000;
  auto in = managed<int>(N), out = managed<int>(N), lengths = managed<int>(N), count = managed<int>(1);
  auto keys = managed<int>(N);
  std::vector<int> h(N);
  for (int i = 0; i < N; i++) in[i] = h[i] = (i / 7 * 31) % 50, keys[i] = i / 100;

  with_storage(
      [&](void *s, size_t &b) { return cub::DeviceRunLengthEncode::Encode(s, b, in, out, lengths, count, N); });
  int runs = 0;
  for (int i = 0; i < N;) {
    int j = i;
    while (j < N && h[j] == h[i]) j++;
    CHECK(out[runs] == h[i] && lengths[runs] == j - i);
    runs++, i = j;
  }
  CHECK(*count == runs);

  with_storage([&](void *s, size_t &b) { return cub::DeviceSelect::If(s, b, in, out, count, N, Odd()); });
  std::vector<int> odd;
  std::copy_if(h.begin(), h.end(), std::back_inserter(odd), Odd());
  CHECK(*count == (int)odd.size() && std::equal(odd.begin(), odd.end(), out));

  with_storage([&](void *s, size_t &b) { return cub::DeviceSelect::Unique(s, b, in, out, count, N); });
  auto unique = h;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  CHECK(*count == (int)unique.size() && std::equal(unique.begin(), unique.end(), out));

  with_storage([&](void *s, size_t &b) { return cub::DevicePartition::If(s, b, in, out, count, N, Odd()); });
  CHECK(*count == (int)odd.size() && std::equal(odd.begin(), odd.end(), out));

  with_storage([&](void *s, size_t &b) { return cub::DeviceHistogram::HistogramEven(s, b, in, out, 11, 0, 50, N); });
  for (int k = 0; k < 10; k++) CHECK(out[k] == std::count_if(h.begin(), h.end(), [&](int x) { return x / 5 == k; }));

  auto offsets = managed<int>(31);
  for (int i = 0; i <= 30; i++) offsets[i] = i * 100;
  with_storage(
      [&](void *s, size_t &b) { return cub::DeviceSegmentedReduce::Sum(s, b, in, out, 30, offsets, offsets + 1); });
  for (int k = 0; k < 30; k++) {
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += h[k * 100 + i];
    CHECK(out[k] == sum);
  }

  with_storage([&](void *s, size_t &b) {
    return cub::DeviceReduce::ReduceByKey(s, b, keys, lengths, in, out, count, cuda::maximum<>{}, N);
  });
  CHECK(*count == 30);
  for (int k = 0; k < 30; k++)
    CHECK(lengths[k] == k && out[k] == *std::max_element(h.begin() + k * 100, h.begin() + k * 100 + 100));

  with_storage([&](void *s, size_t &b) { return cub::DeviceScan::ExclusiveSumByKey(s, b, keys, in, out, N); });
  for (int i = 0, sum = 0; i < N; i++) {
    if (i % 100 == 0) sum = 0;
    CHECK(out[i] == sum);
    sum += h[i];
  }

  memcpy(out, in, N * 4);
  with_storage([&](void *s, size_t &b) {
    return cub::DeviceMergeSort::SortKeys(s, b, out, N, [] __device__(int a, int b) { return a > b; });
  });
  auto down = h;
  std::sort(down.begin(), down.end(), std::greater<int>());
  CHECK(std::equal(down.begin(), down.end(), out));

  with_storage([&](void *s, size_t &b) {
    return cub::DeviceSegmentedSort::SortKeys(s, b, in, out, N, 30, offsets, offsets + 1);
  });
  for (int k = 0; k < 30; k++) CHECK(std::is_sorted(out + k * 100, out + k * 100 + 100));

  auto result = managed<cub::KeyValuePair<int, int>>(1);
  with_storage([&](void *s, size_t &b) { return cub::DeviceReduce::ArgMax(s, b, in, result, N); });
  CHECK(result->value == 49 && result->key == std::max_element(h.begin(), h.end()) - h.begin());

  with_storage([&](void *s, size_t &b) { return cub::DeviceAdjacentDifference::SubtractLeftCopy(s, b, in, out, N); });
  for (int i = 1; i < N; i++) CHECK(out[i] == h[i] - h[i - 1]);
  CUDA(cub::DeviceFor::Bulk(N, [=] __device__(int i) { out[i] = i * 2; }));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < N; i++) CHECK(out[i] == i * 2);
  CUDA(cub::DeviceTransform::Transform(cuda::std::tuple{in, keys}, out, N,
                                       [] __device__(int a, int b) { return a * 100 + b; }));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < N; i++) CHECK(out[i] == h[i] * 100 + i / 100);
  return verdict();
}
