// Thrust: sort, scan, reduce, transform, copy_if.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "check.h"

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

int main() {
  const int N = 3000;
  std::vector<int> host(N);
  for (int i = 0; i < N; i++) host[i] = i * 7919 % 2003 - 900;
  thrust::device_vector<int> values(host.begin(), host.end()), squares(N), sums(N), odd(N);
  CHECK(thrust::reduce(values.begin(), values.end()) == std::accumulate(host.begin(), host.end(), 0));
  thrust::transform(values.begin(), values.end(), squares.begin(), Square());
  thrust::inclusive_scan(values.begin(), values.end(), sums.begin());
  auto end = thrust::copy_if(values.begin(), values.end(), odd.begin(), Odd());
  std::vector<int> expected(N), odd_host;
  std::partial_sum(host.begin(), host.end(), expected.begin());
  thrust::host_vector<int> back = sums;
  CHECK(std::equal(expected.begin(), expected.end(), back.begin()));
  std::copy_if(host.begin(), host.end(), std::back_inserter(odd_host), Odd());
  back.assign(odd.begin(), end);
  CHECK(back.size() == odd_host.size() && std::equal(odd_host.begin(), odd_host.end(), back.begin()));
  back = squares;
  for (int i = 0; i < N; i++) CHECK(back[i] == host[i] * host[i]);
  thrust::sort(values.begin(), values.end());
  std::sort(host.begin(), host.end());
  back = values;
  CHECK(std::equal(host.begin(), host.end(), back.begin()));
  return verdict();
}
