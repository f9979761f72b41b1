// A product of matrices by fragments of nvcuda::wmma.
#include <cuda_fp16.h>
#include <mma.h>
#include "check.h"
using namespace nvcuda;

__global__ void k(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0);
  int r = blockIdx.x * 16, q = blockIdx.y * 16;
  for (int i = 0; i < n; i += 16) {
    wmma::load_matrix_sync(fa, a + r * n + i, n);
    wmma::load_matrix_sync(fb, b + q * n + i, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] *= 2;
  wmma::store_matrix_sync(c + r * n + q, fc, n, wmma::mem_row_major);
}

int main() {
  int n = 64;
  auto a = managed<half>(n * n), b = managed<half>(n * n);
  auto c = managed<float>(n * n);
  for (int i = 0; i < n * n; i++) {
    a[i] = __float2half(i % 7 - 3);
    b[i] = __float2half(i % 5 - 2);
  }
  k<<<dim3(4, 4), 32>>>(a, b, c, n);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float w = 0;
      for (int l = 0; l < n; l++) w += __half2float(a[i * n + l]) * __half2float(b[j * n + l]);
      CHECK(c[i * n + j] == 2 * w);
    }
  return verdict();
}
