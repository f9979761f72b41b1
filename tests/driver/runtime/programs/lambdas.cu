// Extended lambdas and the types of cuda::std.
// flags: --extended-lambda -std=c++20
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include "check.h"
template <class F> __global__ void run(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

int main() {
  auto o = managed<float>(100);
  float s = 2.5f;
  run<<<2, 64>>>(100, [=] __device__(int i) {
    cuda::std::array<int, 3> a{i, i * i, 3};
    auto t = cuda::std::make_tuple(a[1], s);
    cuda::std::optional<float> q;
    if (i % 2) q = cuda::std::get<1>(t);
    cuda::std::complex<float> z(i, 1);
    z *= z;
    o[i] = cuda::std::get<0>(t) + q.value_or(1) + z.imag() + cuda::std::popcount((unsigned)i);
  });
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 100; i++) CHECK(o[i] == i * i + (i % 2 ? 2.5f : 1) + 2 * i + __builtin_popcount(i));
  auto m = managed<int>(12);
  run<<<1, 12>>>(12, [=] __device__(int i) {
    cuda::std::mdspan<int, cuda::std::extents<int, 3, 4>> v(m);
    v(i / 4, i % 4) = i / 4 * 10 + i % 4;
  });
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 12; i++) CHECK(m[i] == i / 4 * 10 + i % 4);
  return verdict();
}
