// Programs whose blocks wait for one another, for test_grid.py: each right, and with one thing left out (WRONG).
#include <cooperative_groups.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;
using device_ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using block_ref = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;

// Rounds of an exchange between blocks. WRONG: without the sync between writes and reads.
template <bool WRONG>
static __device__ void rounds(int* data, int* out) {
  cg::grid_group grid = cg::this_grid();
  int value = blockIdx.x;
  for (int round = 0; round < 3; round++) {
    if (threadIdx.x == 0) data[blockIdx.x] = value;
    if (!WRONG) grid.sync();
    value = data[(blockIdx.x + 1) % gridDim.x] + 1;
    grid.sync();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = value;
}

// As `rounds`, by arrival and wait.
static __device__ void split_rounds(int* data, int* out) {
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) data[blockIdx.x] = blockIdx.x;
  auto token = grid.barrier_arrive();
  grid.barrier_wait(cuda::std::move(token));
  if (threadIdx.x == 0) out[blockIdx.x] = data[gridDim.x - 1 - blockIdx.x];
}

// The last block sums what all have left, and gives the counter back with a plain store. WRONG: without the fence.
template <bool WRONG>
static __device__ void last_block(const int* given, volatile int* partial, unsigned* count, int* out) {
  __shared__ bool am_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = given[blockIdx.x];
    if (!WRONG) __threadfence();
    am_last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (am_last && threadIdx.x == 0) {
    int sum = 0;
    if (!WRONG) __threadfence();
    for (unsigned i = 0; i < gridDim.x; i++) sum += ((int*)partial)[i];
    *out = sum;
    *count = 0;
  }
}

// WRONG: the block with the last index, whoever came last.
template <bool WRONG>
static __device__ void reset(unsigned* count, unsigned* out) {
  unsigned ticket = atomicInc(count, gridDim.x);
  if ((WRONG ? blockIdx.x : ticket) == gridDim.x - 1) {
    *count = 0;
    *out = ticket;
  }
}

// WRONG: the fences of the lock.
template <bool WRONG>
static __device__ void lock(int* mutex, int* sum) {
  while (atomicCAS(mutex, 0, 1) != 0) {}
  if (!WRONG) __threadfence();
  *sum += blockIdx.x;
  if (!WRONG) __threadfence();
  atomicExch(mutex, 0);
}

// WRONG: a fence of the block's scope.
template <bool WRONG>
static __device__ void volatile_flag(int* data, volatile int* flag, int* out) {
  if (blockIdx.x == 0) {
    *data = 7;
    if (WRONG) __threadfence_block(); else __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {}
    __threadfence();
    *out = *data;
  }
}

// WRONG: relaxed increments before the last one.
template <bool WRONG>
static __device__ void atomic_ref(int* data, unsigned* count, int* out) {
  data[blockIdx.x] = blockIdx.x;
  unsigned before = device_ref(*count).fetch_add(1, WRONG ? cuda::memory_order_relaxed : cuda::memory_order_acq_rel);
  if (before == gridDim.x - 1) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += data[i];
    *out = sum;
    device_ref(*count).store(0, cuda::memory_order_relaxed);
  }
}

// Sequentially consistent flags keep two blocks apart. WRONG: flags of the block's scope.
template <bool WRONG>
static __device__ void flags(unsigned* mine, unsigned* others, int* data) {
  using ref = cuda::std::conditional_t<WRONG, block_ref, device_ref>;
  if (blockIdx.x) { unsigned* swap = mine; mine = others; others = swap; }
  ref(*mine).store(1);
  if (ref(*others).load() == 0) *data += 1;
  ref(*mine).store(0);
}

// WRONG: the acquire of a ticket lock.
template <bool WRONG>
static __device__ void ticket_lock(unsigned* next, unsigned* serving, int* sum) {
  unsigned ticket = device_ref(*next).fetch_add(1, cuda::memory_order_relaxed);
  while (device_ref(*serving).load(WRONG ? cuda::memory_order_relaxed : cuda::memory_order_acquire) != ticket) {}
  *sum += blockIdx.x;
  device_ref(*serving).store(ticket + 1, cuda::memory_order_release);
}

#define PAIR(name, parameters, arguments)                                \
  extern "C" __global__ void name##_right parameters { name<false> arguments; } \
  extern "C" __global__ void name##_wrong parameters { name<true> arguments; }

PAIR(rounds, (int* a, int* b), (a, b))
PAIR(last_block, (int* a, int* b, unsigned* c, int* d), (a, b, c, d))
PAIR(reset, (unsigned* a, unsigned* b), (a, b))
PAIR(lock, (int* a, int* b), (a, b))
PAIR(volatile_flag, (int* a, int* b, int* c), (a, b, c))
PAIR(atomic_ref, (int* a, unsigned* b, int* c), (a, b, c))
PAIR(flags, (unsigned* a, unsigned* b, int* c), (a, b, c))
PAIR(ticket_lock, (unsigned* a, unsigned* b, int* c), (a, b, c))

extern "C" __global__ void split(int* a, int* b) { split_rounds(a, b); }
extern "C" __global__ void early(int* a, int* b) {
  cg::grid_group grid = cg::this_grid();
  if (blockIdx.x == 1) return;
  grid.sync();
  a[blockIdx.x] = b[0];
}
extern "C" __global__ void own_trap(int* a, int* b) {
  if (cg::this_grid().is_valid()) a[0] = 1;
  if (b[0] == 0) __trap();
}
