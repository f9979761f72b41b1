// Functions on the bits of integers, against the same on the host.
#include "check.h"

__global__ void k(const unsigned *a, unsigned *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = a[(i + 1) % n];
  o[i * 10 + 0] = __brev(x);
  o[i * 10 + 1] = __popc(x);
  o[i * 10 + 2] = __ffs(x);
  o[i * 10 + 3] = __clz(x);
  o[i * 10 + 4] = __byte_perm(x, y, 0x5036);
  o[i * 10 + 5] = __funnelshift_l(x, y, i);
  o[i * 10 + 6] = __funnelshift_rc(x, y, i + 30);
  o[i * 10 + 7] = __umulhi(x, y);
  o[i * 10 + 8] = __sad((int)x, (int)y, 3u);
  o[i * 10 + 9] = __dp4a((int)x, (int)y, 7);
}

int main() {
  int n = 333;
  auto a = managed<unsigned>(n), o = managed<unsigned>(n * 10);
  srand(1);
  for (int i = 0; i < n; i++) a[i] = rand() * 2654435761u;
  a[0] = 0;
  a[1] = ~0u;
  k<<<(n + 63) / 64, 64>>>(a, o, n);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) {
    unsigned x = a[i], y = a[(i + 1) % n];
    unsigned r = 0;
    for (int b = 0; b < 32; b++)
      if (x >> b & 1) r |= 1u << (31 - b);
    CHECK(o[i * 10] == r);
    CHECK(o[i * 10 + 1] == (unsigned)__builtin_popcount(x));
    CHECK(o[i * 10 + 2] == (unsigned)__builtin_ffs(x));
    CHECK(o[i * 10 + 3] == (x ? __builtin_clz(x) : 32u));
    unsigned char b[8];
    for (int j = 0; j < 4; j++) {
      b[j] = x >> 8 * j;
      b[4 + j] = y >> 8 * j;
    }
    unsigned p = b[6] | b[3] << 8 | b[0] << 16 | (unsigned)b[5] << 24;
    CHECK(o[i * 10 + 4] == p);
    unsigned s = i & 31;
    unsigned long long v = (unsigned long long)y << 32 | x;
    CHECK(o[i * 10 + 5] == (unsigned)((v << s) >> 32));
    s = i + 30 > 32 ? 32 : i + 30;
    CHECK(o[i * 10 + 6] == (unsigned)(v >> s));
    CHECK(o[i * 10 + 7] == (unsigned)((unsigned long long)x * y >> 32));
    long long d = (long long)(int)x - (int)y;
    if (d < 0) d = -d;
    CHECK(o[i * 10 + 8] == (unsigned)d + 3);
    int q = 7;
    for (int j = 0; j < 4; j++) q += (int)(signed char)(x >> 8 * j) * (signed char)(y >> 8 * j);
    CHECK((int)o[i * 10 + 9] == q);
  }
  return verdict();
}
