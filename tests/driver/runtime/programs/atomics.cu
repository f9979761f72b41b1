// Atomic operations on integers, floats, halves and 16 bits, and loops of atomicCAS.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>
#include "check.h"

__global__ void k(int *i, unsigned long long *l, float *f, double *d, __half2 *h, unsigned short *s, __nv_bfloat16 *b) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(i, 1);
  atomicMax(i + 1, t);
  atomicMin(i + 2, -t);
  atomicXor(i + 3, t);
  atomicOr(i + 4, 1 << t % 31);
  atomicAnd(i + 5, ~(1 << t % 7));
  atomicInc((unsigned *)i + 6, 9);
  atomicDec((unsigned *)i + 7, 9);
  atomicExch(i + 8, 5);
  atomicAdd(l, (unsigned long long)t);
  atomicMax(l + 1, 1ull << (t % 60));
  atomicAdd(f, 1.f);
  atomicAdd(d, 0.5);
  atomicAdd(h, __floats2half2_rn(1, 2));
  atomicAdd(b, __float2bfloat16(1));
  unsigned short old = *(volatile unsigned short *)s, was;
  do {
    was = old;
    old = atomicCAS(s, was, (unsigned short)(was + 3));
  } while (old != was);
  cuda::atomic_ref<int, cuda::thread_scope_device> r(i[9]);
  r.fetch_add(2, cuda::memory_order_relaxed);
  float o = *(volatile float *)(f + 1);
  while (true) {
    float n = o * 1.0f + 2;
    int g = atomicCAS((int *)(f + 1), __float_as_int(o), __float_as_int(n));
    if (g == __float_as_int(o)) break;
    o = __int_as_float(g);
  }
}

int main() {
  auto i = managed<int>(16);
  auto l = managed<unsigned long long>(2);
  auto f = managed<float>(2);
  auto d = managed<double>(1);
  auto h = managed<__half2>(1);
  auto s = managed<unsigned short>(2);
  auto b = managed<__nv_bfloat16>(2);
  memset(i, 0, 64);
  i[1] = -1;
  i[2] = 1;
  i[5] = -1;
  memset(l, 0, 16);
  f[0] = f[1] = 0;
  d[0] = 0;
  *h = __floats2half2_rn(0, 0);
  s[0] = s[1] = 0;
  b[0] = b[1] = __float2bfloat16(0);
  k<<<5, 50>>>(i, l, f, d, h, s, b);
  CUDA(cudaDeviceSynchronize());
  int N = 250;
  CHECK(i[0] == N && i[1] == N - 1 && i[2] == 1 - N);
  int x = 0, o = 0;
  for (int t = 0; t < N; t++) {
    x ^= t;
    o |= 1 << t % 31;
  }
  CHECK(i[3] == x && i[4] == o && i[5] == ~127 && i[6] == 0 && i[8] == 5 && i[9] == 2 * N);
  CHECK(l[0] == (unsigned long long)N * (N - 1) / 2 && l[1] == 1ull << 59);
  CHECK(f[0] == N && f[1] == 2 * N && d[0] == N * .5);
  CHECK(__low2float(*h) == N && __high2float(*h) == 2 * N);
  CHECK(s[0] == 3 * N && s[1] == 0);
  CHECK(__bfloat162float(b[0]) == N);
  return verdict();
}
