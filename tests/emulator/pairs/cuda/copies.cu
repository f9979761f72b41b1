// Mistakes of asynchronous copies, each a kernel that is right with RIGHT defined. `found:` marks the line of each finding.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

// Tiles through two stages by cp.async: at the last tile no newer group is in flight.
extern "C" __global__ void tail(const float* x, float* out, int tiles) {
  __shared__ alignas(16) float s[2][128];
  int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[0][4 * t], x + 4 * t, 16);
  __pipeline_commit();
  for (int i = 0; i < tiles; i++) {
    if (i + 1 < tiles) {
      __pipeline_memcpy_async(&s[(i + 1) % 2][4 * t], x + 128 * (i + 1) + 4 * t, 16);
      __pipeline_commit();
    }
#ifdef RIGHT
    if (i + 1 == tiles) __pipeline_wait_prior(0);
    else
#endif
      __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < 4; k++) sum += s[i % 2][32 * k + 31 - t];  // found: tail
    __syncthreads();
  }
  out[t] = sum;
}

// The next copy goes to a stage that another warp may still read.
extern "C" __global__ void reused(const float* x, float* out, int tiles) {
  __shared__ alignas(16) float s[256];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < tiles; i++) {
    __pipeline_memcpy_async(&s[4 * t], x + 256 * i + 4 * t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = 0; k < 4; k++) sum += s[64 * k + 63 - t];  // found: reused
#ifdef RIGHT
    __syncthreads();
#endif
  }
  out[t] = sum;
}

// A thread has waited for its copies, but not for those of the others.
extern "C" __global__ void own_copies(const float* x, float* out) {
  __shared__ alignas(16) float s[256];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], x + 4 * t, 16);  // found: own_copies
  __pipeline_commit();
  __pipeline_wait_prior(0);
#ifdef RIGHT
  __syncthreads();
#endif
  out[t] = s[255 - t];
}

// A tile in shared memory that ordinary stores wrote, stored by the async proxy.
extern "C" __global__ void bulk_store(float* out) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  s[t] = 2.0f * t;
#ifdef RIGHT
  ptx::fence_proxy_async(ptx::space_shared);
#endif
  __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, sizeof(s));  // found: bulk_store
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

// The epilogue's tile is written again while the store of the one before reads it.
extern "C" __global__ void epilogue(float* out, int tiles) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  for (int i = 0; i < tiles; i++) {
    s[t] = 100.0f * i + t;  // found: epilogue
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 128 * i, s, sizeof(s));
      ptx::cp_async_bulk_commit_group();
#ifdef RIGHT
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
    }
    __syncthreads();
  }
  if (t == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// A ring of two stages: the parity does not change when the ring begins again.
extern "C" __global__ void parity(const float* x, float* out, int tiles) {
  __shared__ alignas(128) float s[2][64];
  __shared__ uint64_t full[2];
  int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&full[0], 1);
    ptx::mbarrier_init(&full[1], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < tiles; i++) {
    if (t == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[i % 2], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[i % 2], x + 64 * i, 256, &full[i % 2]);
    }
#ifdef RIGHT
    while (!ptx::mbarrier_try_wait_parity(&full[i % 2], i / 2 % 2)) {}
#else
    while (!ptx::mbarrier_try_wait_parity(&full[i % 2], 0)) {}
#endif
    sum += s[i % 2][63 - t];  // found: parity
    __syncthreads();
  }
  out[t] = sum;
}

// The stage is given back before it has been read.
extern "C" __global__ void given_back(const float* x, float* out, int tiles) {
  __shared__ alignas(128) float s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
  int t = threadIdx.x;
  if (t == 0) {
    init(&full, 33);
    init(&empty, 33);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (t == 32) {
    for (int i = 0; i < tiles; i++) {
      if (i) empty.arrive_and_wait();
      auto* native = cuda::device::barrier_native_handle(full);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, x + 64 * i, 256, native);  // found: given_back
      (void)cuda::device::barrier_arrive_tx(full, 1, 256);
    }
  } else if (t < 32) {
    float sum = 0;
    for (int i = 0; i < tiles; i++) {
      full.arrive_and_wait();
#ifdef RIGHT
      sum += s[t] + s[63 - t];
      if (i + 1 < tiles) (void)empty.arrive();
#else
      if (i + 1 < tiles) (void)empty.arrive();
      sum += s[t] + s[63 - t];
#endif
    }
    out[t] = sum;
  }
}
