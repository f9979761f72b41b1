// /// script
// [tool.repro]
// arch = "sm_80"
// nvcc = ["-std=c++17"]
// ///
// A cuda::pipeline gives its copies in the order of their stages: consumer_wait() waits for the oldest one.
// Source: libcu++ documentation, cuda::pipeline and cuda::memcpy_async.
// CHECK-PTX: cp.async
#include <cstdio>
#include <cuda/pipeline>

__global__ void scan(const int *x, int *out, int stages) {
  __shared__ alignas(16) int room[2][4 * 32];
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  int i = threadIdx.x, sum = 0;
  for (int fetched = 0, stage = 0; stage < stages; stage++) {
    for (; fetched < stages && fetched < stage + 2; fetched++) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&room[fetched % 2][4 * i], x + 128 * fetched + 4 * i, cuda::aligned_size_t<16>(16), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    for (int j = 0; j < 4; j++) sum = 3 * sum + room[stage % 2][4 * i + j];
    pipeline.consumer_release();
  }
  out[i] = sum;
}

int main() {
  int *x, *out, wrong = 0;
  cudaMallocManaged(&x, 5 * 128 * sizeof(int));
  cudaMallocManaged(&out, 32 * sizeof(int));
  for (int i = 0; i < 5 * 128; i++) x[i] = i % 11;
  scan<<<1, 32>>>(x, out, 5);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 32; i++) {
    unsigned sum = 0;
    for (int k = 0; k < 20; k++) sum = 3 * sum + x[128 * (k / 4) + 4 * i + k % 4];
    wrong += sum != unsigned(out[i]);
  }
  printf("%d wrong\n", wrong);
}
