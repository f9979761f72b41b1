// Thrust: sets, searches, merges, iterators and vectors.
// flags: --extended-lambda
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/unique.h>
#include <thrust/universal_vector.h>
#include <algorithm>
#include <numeric>
#include "check.h"

int main() {
  const int N = 1500;
  thrust::host_vector<int> h(N), k(N);
  for (int i = 0; i < N; i++) h[i] = i * 40503 % 701, k[i] = i / 10;
  thrust::device_vector<int> a = h, keys = k, b(N), c(N);
  thrust::sort(a.begin(), a.end());
  thrust::host_vector<int> s = h;
  std::sort(s.begin(), s.end());
  CHECK(a == s);
  thrust::device_vector<int> distinct(N);
  distinct.erase(thrust::unique_copy(a.begin(), a.end(), distinct.begin()), distinct.end());
  s.erase(std::unique(s.begin(), s.end()), s.end());
  CHECK(distinct == s);

  thrust::device_vector<int> evens(400), threes(300), out(700);
  thrust::sequence(evens.begin(), evens.end(), 0, 2);
  thrust::sequence(threes.begin(), threes.end(), 0, 3);
  auto end = thrust::set_intersection(evens.begin(), evens.end(), threes.begin(), threes.end(), out.begin());
  CHECK(end - out.begin() == 134 && out[133] == 798);
  end = thrust::set_union(evens.begin(), evens.end(), threes.begin(), threes.end(), out.begin());
  CHECK(end - out.begin() == 566 && thrust::is_sorted(out.begin(), end));
  end = thrust::set_difference(evens.begin(), evens.end(), threes.begin(), threes.end(), out.begin());
  CHECK(end - out.begin() == 266);
  thrust::merge(evens.begin(), evens.end(), threes.begin(), threes.end(), out.begin());
  CHECK(thrust::is_sorted(out.begin(), out.end()));

  thrust::device_vector<int> where(10);
  thrust::device_vector<int> probes = thrust::host_vector<int>{0, 1, 2, 5, 100, 101, 798, 799, 3, -1};
  thrust::lower_bound(evens.begin(), evens.end(), probes.begin(), probes.end(), where.begin());
  int expected[] = {0, 1, 1, 3, 50, 51, 399, 400, 2, 0};
  for (int i = 0; i < 10; i++) CHECK(where[i] == expected[i]);

  auto zip = thrust::make_zip_iterator(thrust::make_tuple(keys.begin(), b.begin()));
  thrust::sequence(b.begin(), b.end());
  thrust::sort_by_key(b.begin(), b.end(), zip, thrust::greater<int>());
  CHECK(keys[0] == 149 && keys[N - 1] == 0);
  keys = k;
  thrust::device_vector<int> values = h;
  thrust::inclusive_scan_by_key(keys.begin(), keys.end(), values.begin(), c.begin());
  thrust::host_vector<int> hc = c;
  for (int i = 0, sum = 0; i < N; i++) {
    sum = i % 10 ? sum + h[i] : h[i];
    CHECK(hc[i] == sum);
  }
  auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), b.begin(), c.begin());
  CHECK(ends.first - b.begin() == 150 && c[0] == 10 && c[149] == 10);

  auto squares = thrust::make_transform_iterator(thrust::make_counting_iterator(0),
                                                 [] __host__ __device__(int x) { return x * x; });
  CHECK(thrust::reduce(thrust::device, squares, squares + 100) == 328350);
  thrust::gather(probes.begin(), probes.begin() + 3, evens.begin(), where.begin());
  CHECK(where[2] == 4);
  thrust::scatter(evens.begin(), evens.begin() + 10,
                  thrust::make_transform_iterator(thrust::make_counting_iterator(0),
                                                  [] __host__ __device__(int x) { return 9 - x; }),
                  where.begin());
  CHECK(where[0] == 18 && where[9] == 0);
  CHECK(thrust::inner_product(evens.begin(), evens.begin() + 10, threes.begin(), 5) == 5 + 6 * 285);
  auto ext = thrust::minmax_element(values.begin(), values.end());
  CHECK(*ext.first == *std::min_element(h.begin(), h.end()) &&
        ext.second - values.begin() == std::max_element(h.begin(), h.end()) - h.begin());
  auto middle =
      thrust::stable_partition(values.begin(), values.end(), [] __host__ __device__(int x) { return x % 3 == 0; });
  thrust::host_vector<int> hp = h;
  auto m = std::stable_partition(hp.begin(), hp.end(), [](int x) { return x % 3 == 0; });
  CHECK(middle - values.begin() == m - hp.begin() && values == hp);
  CHECK(thrust::count_if(values.begin(), values.end(), [] __device__(int x) { return x > 350; }) ==
        std::count_if(h.begin(), h.end(), [](int x) { return x > 350; }));
  thrust::universal_vector<double> u(100, 1.5);
  thrust::transform(u.begin(), u.end(), thrust::make_counting_iterator(0), u.begin(), thrust::multiplies<double>());
  CHECK(std::accumulate(u.begin(), u.end(), 0.0) == 1.5 * 4950);
  thrust::device_vector<float> r(64);
  thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(64), r.begin(),
                    [] __device__(int i) {
                      thrust::default_random_engine e(7);
                      thrust::uniform_real_distribution<float> d(0, 1);
                      e.discard(i);
                      return d(e);
                    });
  thrust::default_random_engine e(7);
  thrust::uniform_real_distribution<float> d(0, 1);
  for (int i = 0; i < 64; i++) CHECK(r[i] == d(e));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  thrust::fill(thrust::cuda::par_nosync.on(stream), b.begin(), b.end(), 3);
  CHECK(thrust::reduce(thrust::cuda::par.on(stream), b.begin(), b.end()) == 3 * N);
  return verdict();
}
