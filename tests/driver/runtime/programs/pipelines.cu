// cuda::pipeline with two stages of memcpy_async, and cuda::barrier with arrive and wait.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void k(const float *a, float *o, int n) {
  auto block = cg::this_thread_block();
  __shared__ float s[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto pipe = cuda::make_pipeline(block, &st);
  int tiles = n / 128;
  float acc = 0;
  for (int f = 0, c = 0; c < tiles; c++) {
    for (; f < tiles && f < c + 2; f++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[f % 2], a + f * 128, cuda::aligned_size_t<16>(sizeof(float) * 128), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    acc += s[c % 2][(threadIdx.x * 5 + c) % 128];
    pipe.consumer_release();
  }
  o[threadIdx.x] = acc;
}

__global__ void b(int *o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int x[64];
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  int v = threadIdx.x;
  for (int i = 0; i < 5; i++) {
    x[threadIdx.x] = v;
    auto t = bar.arrive();
    bar.wait(std::move(t));
    v = v * 3 + x[(threadIdx.x + i + 1) % 64];
    bar.arrive_and_wait();
  }
  o[threadIdx.x] = v;
}

int main() {
  int n = 128 * 9;
  auto a = managed<float>(n), o = managed<float>(128);
  for (int i = 0; i < n; i++) a[i] = i % 97;
  k<<<1, 128>>>(a, o, n);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 128; t++) {
    float w = 0;
    for (int c = 0; c < 9; c++) w += a[c * 128 + (t * 5 + c) % 128];
    CHECK(o[t] == w);
  }
  auto q = managed<int>(64);
  b<<<1, 64>>>(q);
  CUDA(cudaDeviceSynchronize());
  int v[64];
  for (int i = 0; i < 64; i++) v[i] = i;
  for (int i = 0; i < 5; i++) {
    int x[64];
    for (int j = 0; j < 64; j++) x[j] = v[j];
    for (int j = 0; j < 64; j++) v[j] = v[j] * 3 + x[(j + i + 1) % 64];
  }
  for (int j = 0; j < 64; j++) CHECK(q[j] == v[j]);
  return verdict();
}
