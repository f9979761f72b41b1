// nvcuda::wmma: every type, shape and layout.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include "check.h"
using namespace nvcuda;

template <typename T> static T make(int i) { return T(i % 7 - 3); }
template <> unsigned char make<unsigned char>(int i) { return i % 7; }
static double up(half x) { return __half2float(x); }
static double up(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T> static double up(T x) { return x; }

template <int M, int N, int K, typename T, typename E, typename C, typename LA, typename LB>
__global__ void k(const E *a, const E *b, const C *c, C *d) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc;
  wmma::load_matrix_sync(fa, a, std::is_same<LA, wmma::row_major>::value ? K : M);
  wmma::load_matrix_sync(fb, b, std::is_same<LB, wmma::row_major>::value ? N : K);
  wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
  if constexpr (std::is_same<T, wmma::precision::tf32>::value) {
    for (auto &x : fa.x) x = wmma::__float_to_tf32(x);
    for (auto &x : fb.x) x = wmma::__float_to_tf32(x);
  }
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, M, wmma::mem_col_major);
}

template <int M, int N, int K, typename T, typename E, typename C, typename LA, typename LB>
static void check_one(const char *what) {
  auto a = managed<E>(M * K), b = managed<E>(K * N);
  auto c = managed<C>(M * N), d = managed<C>(M * N);
  for (int i = 0; i < M * K; i++) a[i] = make<E>(i * 3 + i / 11);
  for (int i = 0; i < K * N; i++) b[i] = make<E>(i * 5 + i / 13);
  for (int i = 0; i < M * N; i++) c[i] = make<C>(i);
  k<M, N, K, T, E, C, LA, LB><<<1, 32>>>(a, b, c, d);
  CUDA(cudaDeviceSynchronize());
  int before = wrong;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double w = up(c[i * N + j]);
      for (int l = 0; l < K; l++)
        w += up(a[std::is_same<LA, wmma::row_major>::value ? i * K + l : l * M + i]) *
             up(b[std::is_same<LB, wmma::row_major>::value ? l * N + j : j * K + l]);
      if (up(d[j * M + i]) != w && wrong < before + 1)
        printf("%s: %d %d: %g, want %g\n", what, i, j, up(d[j * M + i]), w), wrong++;
    }
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d);
}
template <int M, int N, int K, typename T, typename E, typename C>
static void check(const char *what) {
  check_one<M, N, K, T, E, C, wmma::row_major, wmma::col_major>(what);
  check_one<M, N, K, T, E, C, wmma::col_major, wmma::row_major>(what);
  check_one<M, N, K, T, E, C, wmma::row_major, wmma::row_major>(what);
}
#define CASE(M, N, K, T, E, C) check<M, N, K, T, E, C>(#M " " #N " " #K " " #T " " #C)

__global__ void binary(const unsigned *a, const unsigned *b, int *d, int *x) {
  using namespace wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
  wmma::fill_fragment(fc, 0);
  wmma::load_matrix_sync(fa, a, 128);
  wmma::load_matrix_sync(fb, b, 128);
  wmma::bmma_sync(fc, fa, fb, fc, bmmaBitOpAND);
  wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
  wmma::fill_fragment(fc, 1);
  wmma::bmma_sync(fc, fa, fb, fc, bmmaBitOpXOR);
  wmma::store_matrix_sync(x, fc, 8, wmma::mem_row_major);
}
__global__ void nibbles(const unsigned *a, const unsigned *b, int *d) {
  using namespace wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::s4, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::s4, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
  wmma::fill_fragment(fc, 0);
  wmma::load_matrix_sync(fa, a, 32);
  wmma::load_matrix_sync(fb, b, 32);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}

int main() {
  CASE(16, 16, 16, half, half, float);
  CASE(32, 8, 16, half, half, float);
  CASE(8, 32, 16, half, half, float);
  CASE(16, 16, 16, half, half, half);
  CASE(32, 8, 16, half, half, half);
  CASE(16, 16, 16, __nv_bfloat16, __nv_bfloat16, float);
  CASE(8, 32, 16, __nv_bfloat16, __nv_bfloat16, float);
  CASE(16, 16, 16, signed char, signed char, int);
  CASE(32, 8, 16, unsigned char, unsigned char, int);
  CASE(16, 16, 8, wmma::precision::tf32, float, float);
  CASE(8, 8, 4, double, double, double);
  auto a = managed<unsigned>(32), b = managed<unsigned>(32);
  auto d = managed<int>(64), x = managed<int>(64);
  for (int i = 0; i < 32; i++) a[i] = i * 2654435761u, b[i] = (i + 5) * 2246822519u;
  binary<<<1, 32>>>(a, b, d, x);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int both = 0, differ = 1;
      for (int l = 0; l < 4; l++)
        both += __builtin_popcount(a[i * 4 + l] & b[j * 4 + l]),
            differ += __builtin_popcount(a[i * 4 + l] ^ b[j * 4 + l]);
      CHECK(d[i * 8 + j] == both && x[i * 8 + j] == differ);
    }
  nibbles<<<1, 32>>>(a, b, d);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int w = 0;
      for (int l = 0; l < 32; l++) {
        int p = (int)(a[i * 4 + l / 8] << (28 - l % 8 * 4)) >> 28,
            q = (int)(b[j * 4 + l / 8] << (28 - l % 8 * 4)) >> 28;
        w += p * q;
      }
      CHECK(d[i * 8 + j] == w);
    }
  return verdict();
}
