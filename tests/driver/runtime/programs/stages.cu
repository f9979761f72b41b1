// Pipelines of one thread, of roles, and the primitives of cuda_pipeline.h.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda/pipeline>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void single(const float4 *in, float *o, int n) {
  __shared__ float4 s[2][64];
  auto pipe = cuda::make_pipeline();
  float sum = 0;
  pipe.producer_acquire();
  cuda::memcpy_async(&s[0][threadIdx.x], in + threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
  pipe.producer_commit();
  for (int i = 0; i < n; i++) {
    if (i + 1 < n) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[(i + 1) % 2][threadIdx.x], in + (i + 1) * 64 + threadIdx.x, cuda::aligned_size_t<16>(16),
                         pipe);
      pipe.producer_commit();
      cuda::pipeline_consumer_wait_prior<1>(pipe);
    } else pipe.consumer_wait();
    float4 v = s[i % 2][threadIdx.x];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    pipe.consumer_release();
  }
  o[threadIdx.x] = sum;
}

__global__ void roles(const int *in, int *o, int n) {
  constexpr int STAGES = 3;
  __shared__ int s[STAGES][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cg::this_thread_block();
  bool producer = threadIdx.x < 32;
  auto pipe =
      cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  if (producer) {
    for (int i = 0; i < n; i++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % STAGES][threadIdx.x], in + i * 32 + threadIdx.x, 4, pipe);
      pipe.producer_commit();
    }
  } else {
    int sum = 0;
    for (int i = 0; i < n; i++) {
      pipe.consumer_wait();
      sum += s[i % STAGES][(threadIdx.x + i) % 32] * (i + 1);
      pipe.consumer_release();
    }
    o[threadIdx.x - 32] = sum;
  }
}

__global__ void primitives(const int *in, int *o) {
  __shared__ alignas(16) int s[128];
  __pipeline_memcpy_async(s + threadIdx.x * 4, in + threadIdx.x * 4, 16, threadIdx.x == 3 ? 8 : 0);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = 0; i < 4; i++) o[i * 32 + threadIdx.x] = s[i * 32 + 31 - threadIdx.x];
}

int main() {
  int n = 7;
  auto in = managed<float>(n * 256);
  auto o = managed<float>(64);
  for (int i = 0; i < n * 256; i++) in[i] = i % 37;
  single<<<1, 64>>>((float4 *)in, o, n);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++) {
    float sum = 0;
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 4; k++) sum += (k + 1) * in[i * 256 + t * 4 + k];
    CHECK(o[t] == sum);
  }
  auto a = managed<int>(320), b = managed<int>(128);
  for (int i = 0; i < 320; i++) a[i] = i * 13 % 101;
  roles<<<1, 96>>>(a, b, 10);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++) {
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += a[i * 32 + (t + 32 + i) % 32] * (i + 1);
    CHECK(b[t] == sum);
  }
  primitives<<<1, 32>>>(a, b);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 4; i++)
    for (int t = 0; t < 32; t++) {
      int k = i * 32 + 31 - t;
      CHECK(b[i * 32 + t] == (k == 14 || k == 15 ? 0 : a[k]));
    }
  return verdict();
}
