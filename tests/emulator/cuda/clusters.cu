// Programs of clusters for test_nvcc_clusters.py, which says what each is to compute.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

static __device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

static __device__ unsigned address_in(const void* p, unsigned rank) {
  unsigned result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address(p)), "r"(rank));
  return result;
}

static __device__ void init(uint64_t* bar, int count) {
  ptx::mbarrier_init(bar, count);
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ void expect(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}

static __device__ void arrive_at(uint64_t* bar, unsigned rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address_in(bar, rank)) : "memory");
}

static __device__ void wait(uint64_t* bar, int parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, bar, parity)) {}
}

static __device__ void multicast(void* to, const void* from, int bytes, uint64_t* bar, unsigned short mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
          address(to)),
      "l"(from), "r"(bytes), "r"(address(bar)), "h"(mask)
      : "memory");
}

// Each block counts in the bins of both.
extern "C" __global__ void __cluster_dims__(2, 1, 1) histogram(const int* in, int* out, int n) {
  __shared__ int bins[64];
  auto c = cg::this_cluster();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  c.sync();
  for (int i = c.thread_rank(); i < n; i += c.num_threads()) {
    int b = in[i] & 127;
    atomicAdd(c.map_shared_rank(bins, b / 64) + b % 64, 1);
  }
  c.sync();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) out[c.block_rank() * 64 + i] = bins[i];
}

// The first block adds up what each block has.
extern "C" __global__ void sum(const float* in, float* out, int n) {
  __shared__ float part[128];
  auto c = cg::this_cluster();
  float x = 0;
  for (int i = c.thread_rank(); i < n; i += c.num_threads()) x += in[i];
  part[threadIdx.x] = x;
  __syncthreads();
  for (int half = 64; half; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  c.sync();
  if (c.thread_rank() == 0) {
    x = 0;
    for (int r = 0; r < c.num_blocks(); r++) x += *c.map_shared_rank(part, r);
    *out = x;
  }
  c.sync();
}

// Vectors of the next block's shared memory.
extern "C" __global__ void ring(const float4* in, float4* out) {
  extern __shared__ float4 box[];
  auto c = cg::this_cluster();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  box[threadIdx.x] = in[i];
  c.sync();
  out[i] = c.map_shared_rank(box, (c.block_rank() + 1) % c.num_blocks())[threadIdx.x];
  c.sync();
}

// st.async to the next block, three phases.
extern "C" __global__ void pass_on(int* out) {
  __shared__ uint64_t bar;
  __shared__ alignas(16) int box[2][4];
  auto c = cg::this_cluster();
  unsigned next = (c.block_rank() + 1) % c.num_blocks();
  if (threadIdx.x == 0) init(&bar, 1);
  c.sync();
  int v[4] = {(int)c.block_rank(), 1, 2, 3};
  for (int phase = 0; phase < 3; phase++) {
    if (threadIdx.x == 0) {
      expect(&bar, 16);
      ptx::st_async(c.map_shared_rank(box[phase & 1], next), v, c.map_shared_rank(&bar, next));
    }
    wait(&bar, phase & 1);
    for (int i = 0; i < 4; i++) v[i] = box[phase & 1][i] + 10;
    c.sync();
  }
  if (threadIdx.x == 0) for (int i = 0; i < 4; i++) out[4 * blockIdx.x + i] = v[i];
}

// Each block has rows of a matrix and writes columns of it to the others.
extern "C" __global__ void __cluster_dims__(4, 1, 1) transpose(const int* in, int* out) {
  __shared__ int mine[16][64];
  auto c = cg::this_cluster();
  int r = c.block_rank();
  c.sync();
  for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) {
    int row = i / 64, column = i % 64;
    int(*theirs)[64] = (int(*)[64])c.map_shared_rank(&mine[0][0], column / 16);
    theirs[column % 16][r * 16 + row] = in[(r * 16 + row) * 64 + column];
  }
  c.sync();
  for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) out[r * 16 * 64 + i] = mine[i / 64][i % 64];
}

// A row in four blocks: its greatest element and its sum by way of all.
extern "C" __global__ void softmax(const float* in, float* out, int n) {
  __shared__ float most, total;
  auto c = cg::this_cluster();
  int part = n / c.num_blocks(), begin = blockIdx.y * n + c.block_rank() * part;
  if (threadIdx.x == 0) {
    most = -INFINITY;
    for (int i = 0; i < part; i++) most = fmaxf(most, in[begin + i]);
  }
  c.sync();
  float m = -INFINITY, s = 0;
  for (int r = 0; r < c.num_blocks(); r++) m = fmaxf(m, *c.map_shared_rank(&most, r));
  if (threadIdx.x == 0) {
    total = 0;
    for (int i = 0; i < part; i++) total += expf(in[begin + i] - m);
  }
  c.sync();
  for (int r = 0; r < c.num_blocks(); r++) s += *c.map_shared_rank(&total, r);
  for (int i = threadIdx.x; i < part; i += blockDim.x) out[begin + i] = expf(in[begin + i] - m) / s;
  c.sync();
}

// Block 0 fills two stages in block 1, which frees them: full barriers in block 1, empty ones in block 0.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pipeline(const int* in, int* out, int tiles) {
  __shared__ alignas(16) int stage[2][32];
  __shared__ uint64_t full[2], empty[2];
  auto c = cg::this_cluster();
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; s++) init(&full[s], 1), init(&empty[s], 32);
  c.sync();
  if (c.block_rank() == 0) {
    for (int t = 0; t < tiles; t++) {
      int s = t & 1;
      wait(&empty[s], ~(t / 2) & 1);
      if (threadIdx.x < 32) ptx::st_async(c.map_shared_rank(&stage[s][threadIdx.x], 1), in[t * 32 + threadIdx.x],
                                          c.map_shared_rank(&full[s], 1));
      __syncthreads();
    }
  } else {
    for (int t = 0; t < tiles; t++) {
      int s = t & 1;
      if (threadIdx.x == 0) expect(&full[s], 128);
      wait(&full[s], t / 2 & 1);
      if (threadIdx.x < 32) {
        out[t * 32 + threadIdx.x] = 2 * stage[s][31 - threadIdx.x];
        arrive_at(&empty[s], 0);
      }
      __syncthreads();
    }
  }
  c.sync();
}

// One block's copy for all.
extern "C" __global__ void broadcast(const int* in, int* out) {
  __shared__ alignas(16) int box[256];
  __shared__ uint64_t bar;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) init(&bar, 1), expect(&bar, 1024);
  c.sync();
  if (c.thread_rank() == 0) multicast(box, in, 1024, &bar, (1 << c.num_blocks()) - 1);
  wait(&bar, 0);
  for (int i = threadIdx.x; i < 256; i += blockDim.x) out[blockIdx.x * 256 + i] = box[i] + blockIdx.x;
  c.sync();
}

// C = A * B in clusters of 2 x 2 blocks of 16 x 16: each slice of A goes to a row of blocks, each of B to a column.
extern "C" __global__ void __cluster_dims__(2, 2, 1) matmul(const float* a, const float* b, float* c, int n) {
  __shared__ alignas(16) float as[2][16][16], bs[2][16][16];
  __shared__ uint64_t full[2], empty[2];
  auto cluster = cg::this_cluster();
  dim3 at = cluster.block_index();
  int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * 16, column = blockIdx.x * 16;
  unsigned short same_row = 3 << 2 * at.y, same_column = 5 << at.x;
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; s++) init(&full[s], 1), init(&empty[s], 3);
  cluster.sync();
  float acc = 0;
  for (int k = 0, t = 0; k < n; k += 16, t++) {
    int s = t & 1;
    if (threadIdx.x == 0) {
      wait(&empty[s], ~(t / 2) & 1);
      expect(&full[s], 2048);
      for (int i = 0; i < 8; i++) {  // half of each tile, for both blocks that need it
        int half = i + 8 * at.x, line = i + 8 * at.y;
        multicast(as[s][half], a + (row + half) * n + k, 64, &full[s], same_row);
        multicast(bs[s][line], b + (k + line) * n + column, 64, &full[s], same_column);
      }
    }
    wait(&full[s], t / 2 & 1);
    for (int i = 0; i < 16; i++) acc += as[s][y][i] * bs[s][i][x];
    __syncthreads();
    if (threadIdx.x == 0)  // free for every block that writes here
      for (int r = 0; r < 4; r++)
        if ((same_row | same_column) >> r & 1) arrive_at(&empty[s], r);
  }
  c[(row + y) * n + column + x] = acc;
  cluster.sync();
}

// Bytes from shared memory to the block before.
extern "C" __global__ void copy_back(int* out) {
  __shared__ alignas(16) int mine[64], theirs[64];
  __shared__ uint64_t bar;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) init(&bar, 1), expect(&bar, 256);
  mine[threadIdx.x] = 1000 * c.block_rank() + threadIdx.x;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  c.sync();
  unsigned back = (c.block_rank() + c.num_blocks() - 1) % c.num_blocks();
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                     address_in(theirs, back)),
                 "r"(address(mine)), "r"(address_in(&bar, back))
                 : "memory");
  wait(&bar, 0);
  out[blockIdx.x * 64 + threadIdx.x] = theirs[threadIdx.x];
  c.sync();
}

// Sums in the first block by red.async.
extern "C" __global__ void add_up(const unsigned* in, unsigned* out) {
  __shared__ unsigned total[32];
  __shared__ uint64_t bar;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) init(&bar, 1), expect(&bar, 128 * c.num_blocks());
  total[threadIdx.x] = 0;
  c.sync();
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                   address_in(&total[threadIdx.x], 0)),
               "r"(in[c.thread_rank()]), "r"(address_in(&bar, 0))
               : "memory");
  if (c.block_rank() == 0) {
    wait(&bar, 0);
    out[threadIdx.x] = total[threadIdx.x];
  }
  c.sync();
}

// What cooperative groups know of the place of a block.
extern "C" __global__ void places(int* out) {
  auto c = cg::this_cluster();
  dim3 i = c.block_index(), n = c.dim_blocks();
  int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int row[] = {(int)i.x, (int)i.y, (int)i.z, (int)n.x, (int)n.y, (int)n.z, (int)c.block_rank(), (int)c.num_blocks(),
               (int)c.thread_rank(), (int)c.num_threads(), cg::cluster_group::query_shared_rank(out) == 0};
  __shared__ int mine;
  row[10] = c.query_shared_rank(c.map_shared_rank(&mine, c.num_blocks() - 1 - c.block_rank()));
  c.sync();
  if (threadIdx.x == 1)
    for (int k = 0; k < 11; k++) out[11 * b + k] = row[k];
}

// The barrier in two halves, with work between.
extern "C" __global__ void halves(int* out) {
  __shared__ int mine;
  auto c = cg::this_cluster();
  int work = 0;
  for (int round = 0; round < 4; round++) {
    if (threadIdx.x == 0) mine = 100 * round + c.block_rank();
    auto token = c.barrier_arrive();
    for (int i = 0; i < 10; i++) work += i * round;
    c.barrier_wait(std::move(token));
    work += *c.map_shared_rank(&mine, (c.block_rank() + 1) % c.num_blocks());
    c.sync();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = work;
}

// A running sum over the blocks: each waits for a flag that the one before sets in its shared memory.
extern "C" __global__ void scan(const int* in, int* out) {
  __shared__ int before, flag, words[32];
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) flag = c.block_rank() == 0, before = 0;
  words[threadIdx.x] = in[c.thread_rank()];
  c.sync();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> mine(flag);
    while (!mine.load(cuda::memory_order_acquire)) {}
    int total = before;
    for (int i = 0; i < 32; i++) out[c.thread_rank() + i] = total += words[i];
    if (c.block_rank() + 1 < c.num_blocks()) {
      *c.map_shared_rank(&before, c.block_rank() + 1) = total;
      cuda::atomic_ref<int, cuda::thread_scope_device> next(*c.map_shared_rank(&flag, c.block_rank() + 1));
      next.store(1, cuda::memory_order_release);
    }
  }
  c.sync();
}

// A stencil whose halo lies in the neighbours' shared memory.
extern "C" __global__ void stencil(const float* in, float* out, int steps) {
  extern __shared__ float line[];
  auto c = cg::this_cluster();
  int t = threadIdx.x, n = blockDim.x, r = c.block_rank(), blocks = c.num_blocks();
  line[t] = in[c.thread_rank()];
  for (int step = 0; step < steps; step++) {
    c.sync();
    float left = t ? line[t - 1] : r ? c.map_shared_rank(line, r - 1)[n - 1] : 0;
    float right = t + 1 < n ? line[t + 1] : r + 1 < blocks ? c.map_shared_rank(line, r + 1)[0] : 0;
    float value = 0.25f * left + 0.5f * line[t] + 0.25f * right;
    c.sync();
    line[t] = value;
  }
  out[c.thread_rank()] = line[t];
}
