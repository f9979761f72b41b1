// Blocks and warps that wait for words in memory, as cuda::atomic_ref and older code do it.
#include <cuda/atomic>

using Device = cuda::atomic_ref<int, cuda::thread_scope_device>;
using Block = cuda::atomic_ref<int, cuda::thread_scope_block>;
using Wide = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed;
constexpr auto acquire = cuda::memory_order_acquire;
constexpr auto release = cuda::memory_order_release;
constexpr auto both = cuda::memory_order_acq_rel;

// One block fills a ring of 4 words, the others empty it: right with one of them.
extern "C" __global__ void ring(int *out, int *x) {
    Device head(x[64]), tail(x[65]);
    if (threadIdx.x) return;
    for (int i = 0; i < 16; ++i) {
        if (blockIdx.x == 0) {
            while (i - tail.load(acquire) >= 4);
            x[i & 3] = i * 3;
            head.store(i + 1, release);
        } else {
            while (head.load(acquire) <= i);
            out[i] = x[i & 3];
            tail.store(i + 1, release);
        }
    }
}

// All threads fence, one of them counts its block: the older way of a barrier of the grid.
extern "C" __global__ void counted(int *out, int *x) {
    volatile int *count = x + 64;
    x[128 + blockIdx.x * 32 + threadIdx.x] = blockIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(x + 64, 1);
        while (*count < (int)gridDim.x);
        __threadfence();
    }
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = x[128 + (blockIdx.x + 1) % gridDim.x * 32 + threadIdx.x];
}

// The same with a count that is one too low.
extern "C" __global__ void miscounted(int *out, int *x) {
    volatile int *count = x + 64;
    if (threadIdx.x == 0 && blockIdx.x) {
        x[128 + blockIdx.x] = blockIdx.x;
        __threadfence();
        atomicAdd(x + 64, 1);
    }
    if (threadIdx.x == 0 && !blockIdx.x) {
        while (*count < (int)gridDim.x - 2);
        __threadfence();
        for (int i = 1; i < gridDim.x; ++i) out[i] = x[128 + i];
    }
}

extern "C" __global__ void ticket(int *out, int *x) {
    Device next(x[64]), serving(x[65]);
    if (threadIdx.x % 32) return;
    int mine = next.fetch_add(1, relaxed);
    while (serving.load(acquire) != mine);
    out[0] += 1;
    serving.store(mine + 1, release);
}

// Status and value of a block are one word: no fence is needed.
extern "C" __global__ void look_back(int *out, int *x) {
    auto words = (unsigned long long *)(x + 256);
    if (threadIdx.x) return;
    int own = blockIdx.x + 1, sum = own;
    Wide(words[blockIdx.x]).store(1ull << 32 | own, relaxed);
    for (int i = (int)blockIdx.x - 1; i >= 0; --i) {
        unsigned long long word;
        while (!((word = Wide(words[i]).load(relaxed)) >> 32));
        sum += (int)word;
        if (word >> 33) break;
    }
    Wide(words[blockIdx.x]).store(2ull << 32 | sum, relaxed);
    out[blockIdx.x] = sum;
}

// Two warps and two buffers; each tells the other by a counter how far it is.
extern "C" __global__ void warps(int *out, int *x) {
    __shared__ int words[2][32], filled, emptied;
    if (threadIdx.x == 0) filled = emptied = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 6; ++i) {
        bool fills = threadIdx.x < 32;
        if (lane == 0) while (Block(fills ? emptied : filled).load(acquire) < i + (fills ? -1 : 1));
        __syncwarp();
        if (fills) words[i & 1][lane] = i * lane;
        else out[i * 32 + lane] = words[i & 1][31 - lane];
        __syncwarp();
        if (lane == 0) Block(fills ? filled : emptied).store(i + 1, release);
    }
}

// A reader of two words tries again until no writer came between.
extern "C" __global__ void sequence(int *out, int *x) {
    Device count(x[64]), a(x[65]), b(x[66]);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 1; i < 5; ++i) {
            count.store(2 * i - 1, relaxed);
            cuda::atomic_thread_fence(release, cuda::thread_scope_device);
            a.store(i, relaxed);
            b.store(i, relaxed);
            count.store(2 * i, release);
        }
        return;
    }
    int before, after, first, second;
    do {
        before = count.load(acquire);
        first = a.load(relaxed);
        second = b.load(relaxed);
        cuda::atomic_thread_fence(acquire, cuda::thread_scope_device);
        after = count.load(relaxed);
    } while (before != after || before < 8 || before & 1);
    if (first != second) __trap();
    out[blockIdx.x] = first;
}
