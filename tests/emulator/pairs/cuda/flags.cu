// Mistakes between blocks, each a kernel that is right with RIGHT defined. `found:` marks the line of each finding.
#include <cuda/atomic>

using device_ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
using block_ref = cuda::atomic_ref<int, cuda::thread_scope_block>;

// Split-K with a semaphore: the blocks add their parts in turn. Only thread 0 has waited.
extern "C" __global__ void split_k(float* out, int* turn) {
  device_ref semaphore(*turn);
  if (threadIdx.x == 0) {
    while (semaphore.load(cuda::memory_order_acquire) != blockIdx.x) {}
  }
#ifdef RIGHT
  __syncthreads();
#endif
  out[threadIdx.x] += blockIdx.x + 1.0f;  // found: split_k
  __syncthreads();
  if (threadIdx.x == 0) semaphore.store(blockIdx.x + 1, cuda::memory_order_release);
}

// Stream-K: a block leaves its part for the block that owns the tile. The fence is before the barrier.
extern "C" __global__ void fixup(float* part, int* ready, float* out) {
  int t = threadIdx.x;
  volatile int* flag = ready;
  if (blockIdx.x == 0) {
    part[t] = t;
#ifdef RIGHT
    __threadfence();
#else
    if (t == 0) __threadfence();
#endif
    __syncthreads();
    if (t == 0) *flag = 1;
  } else {
    if (t == 0) {
      while (*flag == 0) {}
      __threadfence();
    }
    __syncthreads();
    out[t] = part[t] + 1;  // found: fixup
  }
}

// Decoupled look-back: a status and a value in two words.
extern "C" __global__ void look_back(const int* x, int* value, int* status, int* out) {
  int sum = x[blockIdx.x];
  if (blockIdx.x) {
    device_ref before(status[blockIdx.x - 1]);
    while (before.load(cuda::memory_order_acquire) == 0) {}
    sum += value[blockIdx.x - 1];  // found: look_back
  }
  value[blockIdx.x] = sum;
#ifdef RIGHT
  device_ref(status[blockIdx.x]).store(1, cuda::memory_order_release);
#else
  device_ref(status[blockIdx.x]).store(1, cuda::memory_order_relaxed);
#endif
  out[blockIdx.x] = sum;
}

// A counter of blocks in the scope of one block.
extern "C" __global__ void block_scope(int* part, int* count, int* out) {
#ifdef RIGHT
  device_ref arrived(*count);
#else
  block_ref arrived(*count);
#endif
  part[blockIdx.x] = blockIdx.x + 1;
  if (arrived.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {  // found: block_scope
    int sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];
    *out = sum;
  }
}

// A lock that is given back before the writes under it are visible.
extern "C" __global__ void locked(int* lock, float* sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += blockIdx.x;  // found: locked
#ifdef RIGHT
    __threadfence();
#endif
    atomicExch(lock, 0);
  }
}
