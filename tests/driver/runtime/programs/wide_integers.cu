// Integers of 128 bits: products, sums, and divisions, which nvcc makes of carry chains.
#include "check.h"

__global__ void k(const unsigned long long *a, unsigned long long *o, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  __int128 x = (__int128)a[i] * (long long)a[i + 1] + a[i + 2];
  unsigned __int128 y = (unsigned __int128)a[i] << 64 | a[i + 1];
  y /= a[i + 2] | 1;
  o[i * 6] = (unsigned long long)x;
  o[i * 6 + 1] = (unsigned long long)(x >> 64);
  o[i * 6 + 2] = (unsigned long long)y;
  o[i * 6 + 3] = (unsigned long long)(y >> 64);
  o[i * 6 + 4] = __umul64hi(a[i], a[i + 1]);
  o[i * 6 + 5] = a[i] % (a[i + 1] | 1) + (unsigned long long)((long long)a[i] / ((long long)(a[i + 2] >> 40) + 1));
}

int main() {
  int n = 60;
  auto a = managed<unsigned long long>(n + 2);
  auto o = managed<unsigned long long>(n * 6);
  unsigned long long s = 1;
  for (int i = 0; i < n + 2; i++) a[i] = s = s * 6364136223846793005ull + 1442695040888963407ull;
  k<<<1, 64>>>(a, o, n);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) {
    __int128 x = (__int128)a[i] * (long long)a[i + 1] + a[i + 2];
    unsigned __int128 y = (unsigned __int128)a[i] << 64 | a[i + 1];
    y /= a[i + 2] | 1;
    CHECK(o[i * 6] == (unsigned long long)x && o[i * 6 + 1] == (unsigned long long)(x >> 64) &&
          o[i * 6 + 2] == (unsigned long long)y && o[i * 6 + 3] == (unsigned long long)(y >> 64));
    CHECK(o[i * 6 + 4] == (unsigned long long)((unsigned __int128)a[i] * a[i + 1] >> 64));
    CHECK(o[i * 6 + 5] ==
          a[i] % (a[i + 1] | 1) + (unsigned long long)((long long)a[i] / ((long long)(a[i + 2] >> 40) + 1)));
  }
  return verdict();
}
