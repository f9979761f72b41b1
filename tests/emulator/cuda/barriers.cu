// Barriers and pipelines of CCCL and by hand, as NVIDIA's programming guide writes them: each begins and ends an mbarrier.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
extern "C" __global__ void split(int* out) {
  __shared__ barrier bar;
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  for (int i = 0; i < 3; i++) {
    s[threadIdx.x] = threadIdx.x + i;
    auto token = bar.arrive();
    bar.wait(std::move(token));
    out[threadIdx.x] = s[127 - threadIdx.x];
    bar.arrive_and_wait();
  }
}

extern "C" __global__ void bulk(int* data) {
  __shared__ alignas(16) int s[128];
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_global_to_shared(s, data, sizeof(s), bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(s));
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  s[threadIdx.x] += 1;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(data, s, sizeof(s));
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
    (&bar)->~barrier();
  }
}

// The last thread that leaves ends the pipeline's mbarriers.
extern "C" __global__ void stages(const int* in, int* out) {
  __shared__ int s[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int i = 0; i < 4; i++) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, s[i % 2], in + 128 * i, cuda::aligned_size_t<16>(512), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    out[128 * i + threadIdx.x] = s[i % 2][127 - threadIdx.x];
    pipe.consumer_release();
  }
}
