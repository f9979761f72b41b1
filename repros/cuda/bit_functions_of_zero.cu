// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// __clz(0) is 32, __ffs(0) is 0, and __ffs counts from 1.
// Source: CUDA Math API, integer intrinsics: __clz, __ffs, __popc, __brev.
#include <cstdio>

__global__ void bits(int *out, int x) {
  out[0] = __clz(x), out[1] = __ffs(x), out[2] = __popc(x), out[3] = __brev(x);
}

int main() {
  int *out;
  cudaMallocManaged(&out, 4 * sizeof(int));
  for (int x : {0, 1, -1, 6}) {
    bits<<<1, 1>>>(out, x);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    printf("%d: clz %d ffs %d popc %d brev %08x\n", x, out[0], out[1], out[2], out[3]);
  }
}
