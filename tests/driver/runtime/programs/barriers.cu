// cuda::barrier, cuda::pipeline, cuda::atomic of libcu++.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

constexpr int THREADS = 64, STAGES = 2, TILES = 6;

__global__ void phases(int *out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[THREADS];
  if (!threadIdx.x) init(&barrier, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 4; round++) {
    values[threadIdx.x] = threadIdx.x + round;
    barrier.arrive_and_wait();
    out[round * THREADS + threadIdx.x] = values[(threadIdx.x + 1) % THREADS];
    barrier.arrive_and_wait();
  }
}

__global__ void tiles(const int *in, int *out) {
  __shared__ int buffers[STAGES][THREADS];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int compute = 0, fetch = 0; compute < TILES; compute++) {
    for (; fetch < TILES && fetch < compute + STAGES; fetch++) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, buffers[fetch % STAGES], in + fetch * THREADS, sizeof buffers[0], pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[compute * THREADS + threadIdx.x] = buffers[compute % STAGES][THREADS - 1 - threadIdx.x] * 2;
    pipeline.consumer_release();
  }
}

__global__ void count(int *counter) {
  cuda::atomic_ref<int, cuda::thread_scope_device>(*counter).fetch_add(1, cuda::memory_order_relaxed);
}

int main() {
  int *in, *out, host[TILES * THREADS], back[TILES * THREADS];
  for (int i = 0; i < TILES * THREADS; i++) host[i] = i;
  CUDA(cudaMalloc(&in, sizeof host));
  CUDA(cudaMalloc(&out, sizeof host));
  CUDA(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  phases<<<1, THREADS>>>(out);
  CUDA(cudaMemcpy(back, out, 4 * THREADS * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4 * THREADS; i++) CHECK(back[i] == (i % THREADS + 1) % THREADS + i / THREADS);
  tiles<<<1, THREADS>>>(in, out);
  CUDA(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  for (int i = 0; i < TILES * THREADS; i++) CHECK(back[i] == 2 * (i / THREADS * THREADS + THREADS - 1 - i % THREADS));
  CUDA(cudaMemset(out, 0, 4));
  count<<<10, 96>>>(out);
  CUDA(cudaMemcpy(back, out, 4, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 960);
  return verdict();
}
