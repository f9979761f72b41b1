// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// __funnelshift_l shifts by the low five bits of its count, __funnelshift_lc by the count, but at most by 32.
// Source: CUDA Math API, integer intrinsics: __funnelshift_l (shift & 31), __funnelshift_lc (min(shift, 32)).
// CHECK-PTX: shf.l.wrap.b32
// CHECK-PTX: shf.l.clamp.b32
#include <cstdio>

__global__ void shift(unsigned *out, unsigned low, unsigned high, unsigned count) {
  out[0] = __funnelshift_l(low, high, count), out[1] = __funnelshift_lc(low, high, count);
}

int main() {
  unsigned *out, low = 0x89abcdef, high = 0x01234567;
  cudaMallocManaged(&out, 2 * sizeof(unsigned));
  for (unsigned count : {0u, 4u, 31u, 32u, 36u}) {
    shift<<<1, 1>>>(out, low, high, count);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    printf("%u: wrap %08x clamp %08x\n", count, out[0], out[1]);
  }
}
