// cuda::std on the device: containers, algorithms, complex numbers, mdspan, chrono, numeric limits.
#include <cuComplex.h>
#include <complex>
#include <cuda/annotated_ptr>
#include <cuda/cmath>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/expected>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include "check.h"
namespace s = cuda::std;
__device__ s::optional<int> halved(int x) { return x % 2 ? s::optional<int>() : x / 2; }
__device__ s::expected<int, char> root(int x) {
  for (int i = 0; i * i <= x; i++)
    if (i * i == x) return i;
  return s::unexpected('n');
}
struct Visit {
  __device__ int operator()(int x) const { return x; }
  __device__ int operator()(double x) const { return (int)(x * 100); }
  __device__ int operator()(s::array<int, 2> x) const { return x[0] * x[1]; }
};
__global__ void k(int *o, float *f, int *data) {
  int *p = o;
  s::array<int, 5> a = {5, 3, 1, 4, 2};
  for (int i = 0; i < 5; i++)
    for (int j = i + 1; j < 5; j++)
      if (a[j] < a[i]) s::swap(a[i], a[j]);
  *p++ = a[0] * 10000 + a[1] * 1000 + a[2] * 100 + a[3] * 10 + a[4];
  *p++ = s::accumulate(a.begin(), a.end(), 0);
  *p++ = halved(10).value_or(-1) * 100 + halved(7).value_or(99);
  *p++ = root(49).value() * 1000 + root(50).error();
  s::variant<int, double, s::array<int, 2>> v = 7;
  int first = s::visit(Visit(), v);
  v = 2.5;
  int second = s::visit(Visit(), v);
  v = s::array<int, 2>{6, 7};
  *p++ = first * 100000 + second * 100 + s::visit(Visit(), v) + (int)v.index() * 10;
  auto t = s::make_tuple(1, 2.5f, 'c');
  auto [x, y, z] = t;
  *p++ = x * 1000 + (int)(y * 10) + z;
  s::mdspan<int, s::extents<int, 3, s::dynamic_extent>> m(data, 4);
  int sum = 0;
  for (int i = 0; i < m.extent(0); i++)
    for (int j = 0; j < m.extent(1); j++) sum += m(i, j) * (i + 1);
  *p++ = sum;
  s::mdspan<int, s::dextents<int, 2>, s::layout_left> left(data, 3, 4);
  *p++ = left(2, 1);
  s::span<int> part = s::span<int>(data, 12).subspan(3, 4);
  *p++ = (int)part.size() * 100 + part[2];
  *p++ = s::popcount(255u) * 1000 + s::countl_zero(1u) * 10 + (int)s::has_single_bit(64u) + (int)s::bit_ceil(33u);
  *p++ = s::bit_cast<int>(1.5f) >> 20;
  s::complex<float> c(1, 2), d = c * c / s::complex<float>(0, 1);
  f[0] = d.real(), f[1] = d.imag(), f[2] = s::abs(s::complex<float>(3, 4)), f[3] = s::exp(c).real();
  cuDoubleComplex q = cuCmul(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, -1));
  f[4] = (float)cuCreal(q), f[5] = (float)cuCimag(q);
  *p++ = s::numeric_limits<short>::max() + (s::numeric_limits<float>::epsilon() == 1.1920929e-7f);
  *p++ = (int)s::chrono::duration_cast<s::chrono::seconds>(s::chrono::milliseconds(12345)).count();
  cuda::annotated_ptr<int, cuda::access_property::persisting> ap(data);
  *p++ = ap[5];
  *p++ = cuda::ceil_div(10, 3) * 100 + (int)s::gcd(12, 18) * 10 + (int)s::lcm(2, 3);
  auto now = s::chrono::system_clock::now();
  *p++ = now.time_since_epoch().count() > 0;
  s::pair<int, int> pr(3, 4);
  *p++ = pr.first * 10 + pr.second;
}
int main() {
  auto o = managed<int>(32), data = managed<int>(12);
  auto f = managed<float>(8);
  for (int i = 0; i < 12; i++) data[i] = i;
  k<<<1, 1>>>(o, f, data);
  CUDA(cudaDeviceSynchronize());
  int sum = 0;
  for (int i = 0; i < 12; i++) sum += i * (i / 4 + 1);
  int want[] = {12345,
                15,
                599,
                7000 + 'n',
                700000 + 25000 + 42 + 20,
                1000 + 25 + 'c',
                sum,
                5,
                405,
                8000 + 310 + 1 + 64,
                0x3fc00000 >> 20,
                32768,
                12,
                5,
                400 + 60 + 6,
                1,
                34};
  for (int i = 0; i < 17; i++)
    if (o[i] != want[i]) printf("%d: %d, want %d\n", i, o[i], want[i]), wrong++;
  std::complex<float> c(1, 2), d = c * c / std::complex<float>(0, 1);
  CHECK(fabsf(f[0] - d.real()) < 1e-6f && fabsf(f[1] - d.imag()) < 1e-6f && f[2] == 5 &&
        fabsf(f[3] - std::exp(c).real()) < 1e-6f);
  CHECK(f[4] == 5 && f[5] == 5);
  return verdict();
}
