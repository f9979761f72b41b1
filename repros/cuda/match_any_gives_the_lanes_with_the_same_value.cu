// /// script
// [tool.repro]
// arch = "sm_70"
// ///
// __match_any_sync gives each lane the mask of the lanes that have its value.
// Source: CUDA C++ Programming Guide, warp match functions.
// CHECK-PTX: match.any.sync.b32
#include <cstdio>

__global__ void match(unsigned *x) { x[threadIdx.x] = __match_any_sync(0xffffffff, threadIdx.x * threadIdx.x % 5); }

int main() {
  unsigned *x;
  cudaMallocManaged(&x, 32 * sizeof(unsigned));
  match<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  int wrong = 0;
  for (int i = 0; i < 32; i++) {
    unsigned lanes = 0;
    for (int j = 0; j < 32; j++) lanes |= unsigned(i * i % 5 == j * j % 5) << j;
    wrong += lanes != x[i];
  }
  printf("%08x %08x %08x\n", x[0], x[1], x[2]);
  return wrong;
}
