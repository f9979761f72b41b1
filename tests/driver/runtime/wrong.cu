// Wrong programs, each beside its right form: `wrong NAME` and `wrong NAME right`. The line that a report must name ends
// with `// NAME`.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cassert>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/ptx>
#include <string>
#include "programs/check.h"
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

template <bool RIGHT>
__global__ void missing_sync(const int *in, int *out) {
  __shared__ int tile[128];
  tile[threadIdx.x] = in[threadIdx.x];  // missing_sync
  if (RIGHT) __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];
}
template <bool RIGHT>
__global__ void missing_second_sync(const int *in, int *out) {
  __shared__ int tile[128];
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    tile[threadIdx.x] = in[i * 128 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 128; j += 16) sum += tile[j];  // missing_second_sync
    if (RIGHT) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
template <bool RIGHT>
__global__ void warp_tail(const int *in, int *out) {
  __shared__ int sums[64];
  int t = threadIdx.x;
  if (t < 64) sums[t] = in[t];
  __syncthreads();
  if (t >= 32) return;
  for (int d = 32; d > 0; d /= 2) {
    int v = sums[t + d];
    __syncwarp();
    sums[t] += v;  // warp_tail
    if (RIGHT) __syncwarp();
  }
  if (t == 0) *out = sums[0];
}
template <bool RIGHT>
__global__ void wrong_mask(const int *in, int *out) {
  int v = in[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    v += __shfl_down_sync(RIGHT ? 0xffff : 0xffff0000, v, 8, 16);  // wrong_mask
    out[threadIdx.x] = v;
  }
}
template <bool RIGHT>
__global__ void absent_lanes(const int *in, int *out) {
  int v = in[threadIdx.x];
  if (threadIdx.x % 32 < 20) {
    v += __shfl_xor_sync(0xfffff, v, RIGHT ? 1 : 16);  // absent_lanes
    out[threadIdx.x] = v;
  }
}
template <bool RIGHT>
__global__ void past_the_end(const int *in, int *out) {
  out[threadIdx.x] = in[threadIdx.x * 8 + (RIGHT ? 7 : 8)];  // past_the_end
}
template <bool RIGHT>
__global__ void before_the_start(const int *in, int *out) {
  out[threadIdx.x] = in[(int)threadIdx.x - (RIGHT ? 0 : 1)];  // before_the_start
}
__device__ int table[100];
template <bool RIGHT>
__global__ void past_a_table(const int *in, int *out) {
  if (threadIdx.x < (RIGHT ? 100 : 101)) table[threadIdx.x] = in[threadIdx.x];  // past_a_table
  if (threadIdx.x == 0) *out = 1;
}
template <bool RIGHT>
__global__ void past_an_array(const int *in, int *out) {
  int v[8];
  for (int i = 0; i < 8; i++) v[i] = in[i] + i;
  out[threadIdx.x] = v[(in[threadIdx.x] + threadIdx.x) % (RIGHT ? 8 : 9)];  // past_an_array
}
template <bool RIGHT>
__global__ void past_dynamic(const int *in, int *out) {
  extern __shared__ int line[];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = line[RIGHT ? 127 - threadIdx.x : threadIdx.x + 1];  // past_dynamic
}
template <bool RIGHT>
__global__ void not_cleared(const int *in, int *out) {
  __shared__ int bins[32];
  if (RIGHT && threadIdx.x < 32) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 32], 1);  // not_cleared
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = bins[threadIdx.x];
}
template <bool RIGHT>
__global__ void misaligned(const int *in, int *out) {
  int4 v = *(const int4 *)(in + threadIdx.x * 4 + (RIGHT ? 0 : 2));  // misaligned
  out[threadIdx.x] = v.x + v.w;
}
template <bool RIGHT>
__global__ void null_pointer(const int *in, int *out) {
  out[threadIdx.x] = *(RIGHT ? in : in - threadIdx.x - ((size_t)in - 4 * threadIdx.x) / 4);  // null_pointer
}
template <bool RIGHT>
__global__ void twice_freed(const int *in, int *out) {
  int *p = new int[4];
  p[0] = in[threadIdx.x];
  out[threadIdx.x] = p[0];
  delete[] p;
  if (!RIGHT && threadIdx.x == 127) delete[] p;  // twice_freed
}
template <bool RIGHT>
__global__ void plain_sum(const int *in, int *out) {
  if (RIGHT) atomicAdd(out, in[threadIdx.x]);
  else *out += in[threadIdx.x];  // plain_sum
}
template <bool RIGHT>
__global__ void other_block(const int *in, int *out) {
  int i = blockIdx.x * 128 + threadIdx.x;
  out[i] = in[i];  // other_block
  __syncthreads();
  out[512 + i] = out[RIGHT ? blockIdx.x * 128 + (threadIdx.x + 1) % 128 : (i + 1) % 256];
}
template <bool RIGHT>
__global__ void relaxed_flag(const int *in, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(out[512]);
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    out[0] = in[0] + 7;
    flag.store(1, RIGHT ? cuda::memory_order_release : cuda::memory_order_relaxed);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {}
    out[1] = out[0];  // relaxed_flag
  }
}
template <bool RIGHT>
__global__ void copy_not_waited(const int *in, int *out) {
  __shared__ int tile[128];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  if (RIGHT) __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];  // copy_not_waited
}
template <bool RIGHT>
__global__ void no_init(const int *in, int *out) {
  __shared__ block_barrier bar;
  if (RIGHT && threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  bar.arrive_and_wait();  // no_init
  out[threadIdx.x] = in[threadIdx.x];
}
template <bool RIGHT>
__global__ void too_few_arrive(const int *in, int *out) {
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x >= 100) {
    if (RIGHT) bar.arrive_and_drop();
    return;
  }
  bar.arrive_and_wait();  // too_few_arrive
  out[threadIdx.x] = in[threadIdx.x];
}
template <bool RIGHT>
__global__ void bytes_never_come(const int *in, int *out) {
  __shared__ alignas(128) int tile[128];
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  }
  __syncthreads();
  block_barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(512), bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, RIGHT ? 512 : 1024);
  } else token = bar.arrive();
  bar.wait(std::move(token));  // bytes_never_come
  out[threadIdx.x] = tile[127 - threadIdx.x];
}
template <bool RIGHT>
__global__ void no_proxy_fence(const int *in, int *out) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x] = in[threadIdx.x] + 1;
  if (RIGHT) cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, 512);  // no_proxy_fence
    cuda::ptx::cp_async_bulk_commit_group();
    cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());
  }
}
template <bool RIGHT>
__global__ void __cluster_dims__(2) cluster_not_synced(const int *in, int *out) {
  __shared__ int tile[128];
  auto cluster = cg::this_cluster();
  tile[threadIdx.x] = in[threadIdx.x];  // cluster_not_synced
  if (RIGHT) cluster.sync();
  else __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1)[threadIdx.x];
  cluster.sync();
}
template <bool RIGHT>
__global__ void grid_without_launch(const int *in, int *out) {
  out[threadIdx.x] = in[threadIdx.x];
  if (RIGHT) cg::this_thread_block().sync();
  else cg::this_grid().sync();  // grid_without_launch
}
template <bool RIGHT>
__global__ void failed_assert(const int *in, int *out) {
  assert(in[threadIdx.x] == (RIGHT ? 0 : 1));  // failed_assert
  out[threadIdx.x] = 1;
}
__device__ __noinline__ int deep(int n, volatile const int *p) {
  int v[64];
  for (int i = 0; i < 64; i++) v[i] = p[i % 16] + n;
  return n == 0 ? v[3] : deep(n - 1, v) + v[n % 64];  // too_deep
}
template <bool RIGHT>
__global__ void too_deep(const int *in, int *out) {
  out[threadIdx.x] = deep(RIGHT ? 2 : 100000, in);
}
template <bool RIGHT>
__global__ void used_after_free(const int *in, int *out) {
  out[threadIdx.x] = in[threadIdx.x];  // used_after_free
}
template <bool RIGHT>
__global__ void memory_of_the_host(const int *in, int *out) {
  out[threadIdx.x] = in[threadIdx.x];  // memory_of_the_host
}
template <bool RIGHT>
__global__ void two_streams(const int *in, int *out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // two_streams
}

template <bool RIGHT>
__global__ void never_written(const int *in, int *out) {
  int sum = 0;
  for (int i = threadIdx.x; i < 1000; i += 128) sum += in[i];  // never_written
  out[threadIdx.x] = sum;
}
template <bool RIGHT>
__global__ void partly_written(const int *in, int *out) {
  if (in[threadIdx.x] == 0) out[threadIdx.x] = 1;  // partly_written
}
template <bool RIGHT>
__global__ void sum_not_cleared(const int *in, int *out) {
  atomicAdd(out, in[0] + 1);  // sum_not_cleared
}
template <bool RIGHT>
__global__ void copied_unwritten(const int *in, int *out) {
  out[(in[threadIdx.x] & 127) + threadIdx.x] = 1;  // copied_unwritten
}
__global__ void copy_all(const int4 *from, int4 *to) { to[threadIdx.x] = from[threadIdx.x]; }

#define SAME(name) \
  if (which == #name) { \
    auto kernel = right ? name<true> : name<false>; \
    kernel<<<blocks, 128, dynamic>>>(in, out); \
  }

int main(int count, char **arguments) {
  std::string which = arguments[1];
  bool right = count > 2;
  int blocks = which == "other_block" || which == "relaxed_flag" || which == "cluster_not_synced" ? 2 : 1;
  int dynamic = which == "past_dynamic" ? 512 : 0;
  int *in, *out;
  CUDA(cudaMalloc(&in, 4096));
  CUDA(cudaMalloc(&out, 4096));
  CUDA(cudaMemset(in, 0, 4096));
  CUDA(cudaMemset(out, 0, 4096));
  SAME(missing_sync)
  SAME(missing_second_sync)
  SAME(warp_tail) SAME(wrong_mask) SAME(absent_lanes) SAME(past_the_end) SAME(before_the_start) SAME(past_a_table)
      SAME(past_an_array) SAME(past_dynamic) SAME(not_cleared) SAME(misaligned) SAME(null_pointer) SAME(twice_freed)
          SAME(plain_sum) SAME(other_block) SAME(relaxed_flag) SAME(copy_not_waited) SAME(no_init) SAME(too_few_arrive)
              SAME(bytes_never_come) SAME(no_proxy_fence) SAME(cluster_not_synced) SAME(grid_without_launch)
                  SAME(failed_assert) SAME(too_deep) if (which == "used_after_free") {
    if (!right) CUDA(cudaFree(in));
    SAME(used_after_free)
  }
  if (which == "never_written" || which == "partly_written" || which == "sum_not_cleared" ||
      which == "copied_unwritten") {
    int *fresh;
    CUDA(cudaMalloc(&fresh, 4096));
    if (right) CUDA(cudaMemset(fresh, 0, 4096));
    if (which == "sum_not_cleared") {
      out = fresh;
    } else if (which == "copied_unwritten") {
      int *again;
      CUDA(cudaMalloc(&again, 4096));
      copy_all<<<1, 256>>>((int4 *)fresh, (int4 *)again);
      CUDA(cudaMemcpy(in, again, 4096, cudaMemcpyDeviceToDevice));
    } else {
      in = fresh;
      if (which == "partly_written") CUDA(cudaMemset(fresh, 0, 127 * 4 + 3));
    }
  }
  SAME(never_written) SAME(partly_written) SAME(sum_not_cleared) SAME(copied_unwritten)
  if (which == "memory_of_the_host") {
    int *own = (int *)calloc(1024, 4);
    if (!right) in = own;
    SAME(memory_of_the_host)
    cudaDeviceSynchronize();
    free(own);
  }
  if (which == "two_streams") {
    cudaStream_t one, other;
    int *pinned;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMallocHost(&pinned, 4096));
    memset(pinned, 0, 4096);
    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CUDA(cudaMemcpyAsync(in, pinned, 4096, cudaMemcpyHostToDevice, one));
    if (right) CUDA(cudaStreamSynchronize(one));
    two_streams<false><<<1, 128, 0, other>>>(in, out);
  }
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
