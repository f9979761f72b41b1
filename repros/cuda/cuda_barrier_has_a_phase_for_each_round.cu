// /// script
// [tool.repro]
// arch = "sm_80"
// nvcc = ["-std=c++17"]
// ///
// One cuda::barrier orders many rounds: each arrive_and_wait ends a phase, and the barrier is ready for the next.
// Source: libcu++ documentation, cuda::barrier; C++20, class template barrier: phases.
// CHECK-PTX: mbarrier.arrive
#include <cstdio>
#include <cuda/barrier>

__global__ void rounds(int *out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ cuda::std::aligned_storage_t<sizeof(Barrier), alignof(Barrier)> room;
  __shared__ int x[64];
  Barrier *barrier = reinterpret_cast<Barrier *>(&room);
  int i = threadIdx.x;
  if (i == 0) init(barrier, 64);
  x[i] = i;
  __syncthreads();
  for (int round = 0; round < 6; round++) {
    int other = x[(i + 1) % 64];
    barrier->arrive_and_wait();
    x[i] = other;
    barrier->arrive_and_wait();
  }
  out[i] = x[i];
}

int main() {
  int *out;
  cudaMallocManaged(&out, 64 * sizeof(int));
  rounds<<<1, 64>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 64; i++) printf("%d%c", out[i], i % 16 == 15 ? '\n' : ' ');
}
