// cuda::barrier: completion functions, drops, parities, timed waits, counts of arrivals and bytes.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda/std/chrono>
#include "check.h"
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

struct Count {
  int *n;
  __device__ void operator()() noexcept { ++*n; }
};

__global__ void completion(int *o) {
  using B = cuda::barrier<cuda::thread_scope_block, Count>;
  __shared__ int n;
  __shared__ alignas(B) char raw[sizeof(B)];
  B *b = (B *)raw;
  if (threadIdx.x == 0) n = 0, new (b) B(blockDim.x, Count{&n});
  __syncthreads();
  for (int i = 1; i <= 4; i++) {
    b->arrive_and_wait();
    o[threadIdx.x * 4 + i - 1] = n;
    b->arrive_and_wait();
  }
}

__global__ void drop(int *o) {
  __shared__ block_barrier b;
  __shared__ int seen;
  if (threadIdx.x == 0) init(&b, blockDim.x), seen = 0;
  __syncthreads();
  if (threadIdx.x >= 32) {
    atomicAdd(&seen, 1);
    b.arrive_and_drop();
    return;
  }
  b.arrive_and_wait();
  o[threadIdx.x] = seen;
  b.arrive_and_wait();
  if (threadIdx.x == 0) seen = 1000;
  b.arrive_and_wait();
  o[32 + threadIdx.x] = seen;
}

__global__ void parity(int *o) {
  __shared__ block_barrier b;
  __shared__ int x[64];
  if (threadIdx.x == 0) init(&b, 64);
  __syncthreads();
  int v = threadIdx.x;
  for (int i = 0; i < 6; i++) {
    x[threadIdx.x] = v;
    (void)b.arrive();
    b.wait_parity(i % 2 == 0 ? 0 : 1);
    v += x[(threadIdx.x + 1) % 64];
    __syncthreads();
  }
  o[threadIdx.x] = v;
}

__global__ void timed(int *o) {
  __shared__ block_barrier b;
  if (threadIdx.x == 0) init(&b, 2);
  __syncthreads();
  auto token = b.arrive();
  if (threadIdx.x == 0) {
    int tries = 0;
    while (!b.try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(100))) tries++;
    o[0] = 1;
  } else {
    b.wait(std::move(token));
    o[1] = 2;
  }
}

__global__ void bytes(const int *in, int *o) {
  __shared__ alignas(16) int s[256];
  __shared__ block_barrier b;
  if (threadIdx.x == 0) {
    init(&b, blockDim.x);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  }
  __syncthreads();
  block_barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(s, in, cuda::aligned_size_t<16>(sizeof(s)), b);
    token = cuda::device::barrier_arrive_tx(b, 1, sizeof(s));
  } else token = b.arrive(1);
  b.wait(std::move(token));
  o[threadIdx.x] = s[255 - threadIdx.x] + s[threadIdx.x + 128];
}

__global__ void each_copies(const int *in, int *o) {
  __shared__ int s[128];
  __shared__ block_barrier b;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&b, block.size());
  block.sync();
  cuda::memcpy_async(block, s, in, sizeof(s), b);
  b.arrive_and_wait();
  int x = s[127 - threadIdx.x];
  block.sync();
  cg::memcpy_async(block, s, in + 128, sizeof(s));
  cg::wait(block);
  o[threadIdx.x] = x * 1000 + s[(threadIdx.x + 3) % 128];
}

__global__ void counted(int *o) {
  __shared__ block_barrier b;
  __shared__ int x;
  if (threadIdx.x == 0) init(&b, 1 + 31 * 2), x = 5;
  __syncthreads();
  if (threadIdx.x < 31) b.arrive(2);
  else {
    x = 6;
    b.arrive_and_wait();
    o[0] = x;
  }
}

int main() {
  auto o = managed<int>(512), in = managed<int>(256);
  for (int i = 0; i < 256; i++) in[i] = i * i % 1009;
  completion<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++)
    for (int i = 0; i < 4; i++) CHECK(o[t * 4 + i] == 1 + 2 * i);
  drop<<<1, 96>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 32; t++) CHECK(o[t] == 64 && o[32 + t] == 1000);
  parity<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  int v[64], n[64];
  for (int i = 0; i < 64; i++) v[i] = i;
  for (int k = 0; k < 6; k++) {
    for (int i = 0; i < 64; i++) n[i] = v[i] + v[(i + 1) % 64];
    memcpy(v, n, sizeof v);
  }
  for (int t = 0; t < 64; t++) CHECK(o[t] == v[t]);
  timed<<<1, 2>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 1 && o[1] == 2);
  bytes<<<1, 128>>>(in, o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 128; t++) CHECK(o[t] == in[255 - t] + in[t + 128]);
  each_copies<<<1, 128>>>(in, o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 128; t++) CHECK(o[t] == in[127 - t] * 1000 + in[128 + (t + 3) % 128]);
  counted<<<1, 32>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 6);
  return verdict();
}
