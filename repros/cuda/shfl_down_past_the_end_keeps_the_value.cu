// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// __shfl_down_sync gives a lane its own value if the source lane is past the end of its segment.
// Source: CUDA C++ Programming Guide, warp shuffle functions: the upper delta lanes remain unchanged.
// CHECK-PTX: shfl.sync.down.b32
#include <cstdio>

__global__ void down(int *x) { x[threadIdx.x] = __shfl_down_sync(0xffffffff, threadIdx.x, 3, 8); }

int main() {
  int *x;
  cudaMallocManaged(&x, 32 * sizeof(int));
  down<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 32; i++) printf("%d%c", x[i], i % 8 == 7 ? '\n' : ' ');
}
