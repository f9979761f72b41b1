// Blocks that wait for one another: a decoupled look-back scan, ticket locks, flags, the last block.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include "check.h"
namespace cg = cooperative_groups;

__device__ unsigned done;
__global__ void last_block(const int *in, int n, volatile int *partial, int *o) {
  __shared__ int s[128];
  __shared__ bool last;
  int x = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) x += in[i];
  s[threadIdx.x] = x;
  __syncthreads();
  for (int d = 64; d; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += partial[i];
    *o = sum;
  }
}
struct State { int flag, value; };
__device__ int next_tile;
__global__ void look_back(const int *in, int *out, cuda::atomic<unsigned long long, cuda::thread_scope_device> *state) {
  __shared__ int tile, before, s[64];
  if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
  __syncthreads();
  int i = tile * 64 + threadIdx.x;
  s[threadIdx.x] = in[i];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int y = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += y;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    int sum = 0;
    state[tile].store((tile ? 1ull : 2ull) << 32 | (unsigned)s[63], cuda::memory_order_release);
    for (int t = tile - 1; t >= 0; t--) {
      unsigned long long v;
      while (((v = state[t].load(cuda::memory_order_acquire)) >> 32) == 0) __nanosleep(50);
      sum += (int)v;
      if (v >> 32 == 2) break;
    }
    if (tile) state[tile].store(2ull << 32 | (unsigned)(sum + s[63]), cuda::memory_order_release);
    before = sum;
  }
  __syncthreads();
  out[i] = s[threadIdx.x] + before;
}
__device__ unsigned ticket, serving;
__global__ void ticket_lock(int *p) {
  if (threadIdx.x) return;
  unsigned mine = atomicAdd(&ticket, 1);
  while (atomicAdd(&serving, 0) != mine) {}
  __threadfence();
  *p += 1;
  __threadfence();
  atomicAdd(&serving, 1);
}
__device__ int spin;
__global__ void spin_lock(int *p) {
  for (bool leave = false; !leave;)
    if (atomicCAS(&spin, 0, 1) == 0) {
      __threadfence();
      *p += 1;
      __threadfence();
      atomicExch(&spin, 0);
      leave = true;
    }
}
__global__ void ping_pong(volatile int *ball, int *o) {
  if (threadIdx.x) return;
  for (int i = 0; i < 10; i++) {
    while (atomicAdd((int *)ball, 0) % 2 != (int)blockIdx.x) {}
    atomicAdd((int *)ball, 1);
  }
  o[blockIdx.x] = 1;
}
__global__ void grid_wide(int *a, int *b, int n) {
  auto grid = cg::this_grid();
  for (int r = 0; r < 4; r++) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[i] + a[(i + 1) % n];
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = b[(i + n - 1) % n];
    grid.sync();
  }
}
int main() {
  const int N = 64 * 40;
  auto in = managed<int>(N), out = managed<int>(N), partial = managed<int>(64);
  auto o = managed<int>(2);
  int sum = 0;
  for (int i = 0; i < N; i++) sum += in[i] = i * 31 % 17;
  for (int turn = 0; turn < 2; turn++) {
    last_block<<<12, 128>>>(in, N, partial, o);
    CUDA(cudaDeviceSynchronize());
    CHECK(*o == sum);
  }
  auto state = (cuda::atomic<unsigned long long, cuda::thread_scope_device> *)managed<unsigned long long>(40);
  memset((void *)state, 0, 320);
  look_back<<<40, 64>>>(in, out, state);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0, s = 0; i < N; i++) CHECK(out[i] == (s += in[i]));
  *o = 0;
  ticket_lock<<<20, 32>>>(o);
  spin_lock<<<3, 40>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(*o == 140);
  partial[0] = 0;
  ping_pong<<<2, 32>>>(partial, o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 1 && o[1] == 1 && partial[0] == 20);
  int n = 1000;
  static int a[1000], b[1000];
  for (int i = 0; i < n; i++) a[i] = in[i] = i % 13;
  void *args[] = {&in, &out, &n};
  CUDA(cudaLaunchCooperativeKernel((void *)grid_wide, 8, 64, args, 0, 0));
  CUDA(cudaDeviceSynchronize());
  for (int r = 0; r < 4; r++) {
    for (int i = 0; i < n; i++) b[i] = a[i] + a[(i + 1) % n];
    for (int i = 0; i < n; i++) a[i] = b[(i + n - 1) % n];
  }
  CHECK(!memcmp(a, in, sizeof a));
  return verdict();
}
