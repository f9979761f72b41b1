// Idioms of hand-written kernels: look-back scans, last blocks, locks, queues, warps that work alone. Each is right.
#include <cuda_pipeline.h>
#include "check.h"

constexpr unsigned ALL = 0xffffffff;
static unsigned *zeros(int n) {
  auto p = managed<unsigned>(n);
  memset(p, 0, n * sizeof *p);
  return p;
}

// A sum whose last block adds up the partial sums.
__device__ unsigned tickets;
__global__ void last_block(const unsigned *in, volatile unsigned *partial, unsigned *out) {
  __shared__ unsigned sums[4];
  __shared__ bool last;
  unsigned v = in[blockIdx.x * 128 + threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(ALL, v, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
    __threadfence();
    last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < 32) {
    unsigned sum = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(ALL, sum, d);
    if (threadIdx.x == 0) *out = sum;
  }
}
static void do_last_block() {
  auto in = managed<unsigned>(1024);
  auto partial = zeros(8), out = zeros(1);
  unsigned sum = 0;
  for (int i = 0; i < 1024; i++) sum += in[i] = i * 7 % 31;
  for (int round = 0; round < 2; round++) last_block<<<8, 128>>>(in, partial, out);
  CUDA(cudaDeviceSynchronize());
  CHECK(*out == sum);
}

// The last warp of the grid finishes: each warp takes a ticket, and a shuffle tells its lanes.
__global__ void last_warp(const unsigned *in, unsigned *partial, unsigned *count, unsigned *out) {
  unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  unsigned v = in[warp * 32 + lane];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(ALL, v, d);
  unsigned ticket = 0;
  if (lane == 0) {
    partial[warp] = v;
    __threadfence();
    ticket = atomicAdd(count, 1);
    __threadfence();
  }
  __syncwarp();
  ticket = __shfl_sync(ALL, ticket, 0);
  if (ticket == warps - 1) {
    unsigned sum = 0;
    for (unsigned i = lane; i < warps; i += 32) sum += partial[i];
    sum = __reduce_add_sync(ALL, sum);
    if (lane == 0) *out = sum;
  }
}
static void do_last_warp() {
  auto in = managed<unsigned>(1024);
  auto partial = zeros(32), count = zeros(1), out = zeros(1);
  unsigned sum = 0;
  for (int i = 0; i < 1024; i++) sum += in[i] = i * 5 % 23;
  last_warp<<<8, 128>>>(in, partial, count, out);
  CUDA(cudaDeviceSynchronize());
  CHECK(*out == sum);
}

// A scan in one pass: each block looks back at the sums of those before, 32 at a time.
constexpr unsigned SUM = 1u << 30, PREFIX = 2u << 30, VALUE = SUM - 1;
__global__ void look_back(const unsigned *in, unsigned *state, unsigned *next, unsigned *out) {
  __shared__ unsigned tile, sums[4], before;
  unsigned t = threadIdx.x, lane = t % 32;
  if (t == 0) tile = atomicAdd(next, 1);
  __syncthreads();
  unsigned mine = in[tile * 128 + t], v = mine;
  for (int d = 1; d < 32; d *= 2) {
    unsigned o = __shfl_up_sync(ALL, v, d);
    if (lane >= d) v += o;
  }
  if (lane == 31) sums[t / 32] = v;
  __syncthreads();
  for (unsigned w = 0; w < t / 32; w++) v += sums[w];
  unsigned total = sums[0] + sums[1] + sums[2] + sums[3];
  if (t < 32) {
    if (lane == 0) atomicExch(&state[tile], (tile == 0 ? PREFIX : SUM) | total);
    unsigned prefix = 0;
    for (int at = (int)tile - 1; at >= 0;) {
      int mine = at - (int)lane;
      unsigned word = PREFIX;
      if (mine >= 0) do word = *(volatile unsigned *)&state[mine]; while (!(word & ~VALUE));
      unsigned done = __ballot_sync(ALL, word & PREFIX);
      unsigned first = done ? __ffs(done) - 1 : 31;
      prefix += __reduce_add_sync(ALL, lane <= first ? word & VALUE : 0);
      if (done) break;
      at -= 32;
    }
    if (lane == 0) {
      if (tile) atomicExch(&state[tile], PREFIX | (prefix + total));
      before = prefix;
    }
  }
  __syncthreads();
  out[tile * 128 + t] = before + v;
}
static void do_look_back() {
  auto in = managed<unsigned>(40 * 128), out = managed<unsigned>(40 * 128);
  auto state = zeros(40), next = zeros(1);
  for (int i = 0; i < 40 * 128; i++) in[i] = i * 3 % 11;
  look_back<<<40, 128>>>(in, state, next, out);
  CUDA(cudaDeviceSynchronize());
  unsigned sum = 0, bad = 0;
  for (int i = 0; i < 40 * 128; i++) bad += out[i] != (sum += in[i]);
  CHECK(bad == 0);
}

// The same with the value in a word of its own: flag and value by fences.
__global__ void chained(const unsigned *in, unsigned *value, volatile unsigned *flag, unsigned *out) {
  __shared__ unsigned sum, before;
  unsigned t = threadIdx.x, b = blockIdx.x;
  if (t == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[b * 64 + t]);
  __syncthreads();
  if (t == 0) {
    unsigned prefix = 0;
    if (b > 0) {
      while (!flag[b - 1]);
      __threadfence();
      prefix = value[b - 1];
    }
    value[b] = prefix + sum;
    __threadfence();
    flag[b] = 1;
    before = prefix;
  }
  __syncthreads();
  out[b * 64 + t] = before + in[b * 64 + t];
}
static void do_chained() {
  auto in = managed<unsigned>(16 * 64), out = managed<unsigned>(16 * 64);
  auto value = zeros(16), flag = zeros(16);
  for (int i = 0; i < 16 * 64; i++) in[i] = i;
  chained<<<16, 64>>>(in, value, flag, out);
  CUDA(cudaDeviceSynchronize());
  unsigned sum = 0, bad = 0;
  for (int b = 0; b < 16; b++) {
    for (int t = 0; t < 64; t++) bad += out[b * 64 + t] != sum + in[b * 64 + t];
    for (int t = 0; t < 64; t++) sum += in[b * 64 + t];
  }
  CHECK(bad == 0);
}

// A ticket lock around plain memory.
__global__ void ticket_lock(unsigned *lock, unsigned *data) {
  if (threadIdx.x % 32) return;
  unsigned mine = atomicAdd(&lock[0], 1);
  while (*(volatile unsigned *)&lock[1] != mine);
  __threadfence();
  data[0] += 1;
  data[1] = data[0] * 2;
  __threadfence();
  *(volatile unsigned *)&lock[1] = mine + 1;
}
static void do_ticket_lock() {
  auto lock = zeros(2), data = zeros(2);
  ticket_lock<<<6, 64>>>(lock, data);
  CUDA(cudaDeviceSynchronize());
  CHECK(data[0] == 12 && data[1] == 24);
}

// A lock by compare-and-swap, in each lane in turn.
__global__ void spin_lock(int *lock, unsigned *data) {
  for (int lane = 0; lane < 32; lane++)
    if (threadIdx.x % 32 == lane) {
      while (atomicCAS(lock, 0, 1) != 0);
      __threadfence();
      *data += 1;
      __threadfence();
      atomicExch(lock, 0);
    }
}
static void do_spin_lock() {
  auto lock = zeros(1), data = zeros(1);
  spin_lock<<<2, 32>>>((int *)lock, data);
  CUDA(cudaDeviceSynchronize());
  CHECK(*data == 64);
}

// A lock whose loop has the critical section in it, by all lanes.
__global__ void lock_in_loop(int *lock, unsigned *data) {
  bool done = false;
  while (!done)
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *data += threadIdx.x;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
}
static void do_lock_in_loop() {
  auto lock = zeros(1), data = zeros(1);
  lock_in_loop<<<2, 32>>>((int *)lock, data);
  CUDA(cudaDeviceSynchronize());
  CHECK(*data == 2 * 31 * 16);
}

// A stack without locks: pushes by all, pops by all in the next launch. Its top has a count.
struct Node {
  unsigned next, value;
};
__global__ void push(Node *nodes, unsigned long long *top) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x + 1;
  nodes[i].value = i * i;
  unsigned long long old = *(volatile unsigned long long *)top, seen;
  do {
    seen = old;
    nodes[i].next = (unsigned)seen;
    __threadfence();
    old = atomicCAS(top, seen, ((seen >> 32) + 1) << 32 | i);
  } while (old != seen);
}
__global__ void pop_all(Node *nodes, unsigned long long *top, unsigned *out) {
  unsigned long long head = atomicExch(top, 0ull);
  for (unsigned i = (unsigned)head; i; i = nodes[i].next) out[i - 1] = nodes[i].value;
}
static void do_stack() {
  auto nodes = managed<Node>(65);
  auto top = managed<unsigned long long>(1);
  auto out = zeros(64);
  *top = 0;
  push<<<2, 32>>>(nodes, top);
  pop_all<<<1, 1>>>(nodes, top, out);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned i = 1; i <= 64; i++) bad += out[i - 1] != i * i;
  CHECK(bad == 0);
}

// A seqlock: readers try again while the number is odd or has changed. The data are volatile.
__global__ void seqlock(volatile unsigned *seq, volatile unsigned *data, unsigned *torn) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (unsigned i = 1; i <= 8; i++) {
      *seq = 2 * i - 1;
      __threadfence();
      data[0] = i;
      data[1] = ~i;
      __threadfence();
      *seq = 2 * i;
    }
    return;
  }
  unsigned a, b, s;
  do {
    do s = *seq; while (s & 1);
    __threadfence();
    a = data[0];
    b = data[1];
    __threadfence();
  } while (*seq != s);
  if (s && a != ~b) atomicAdd(torn, 1);
}
static void do_seqlock() {
  auto seq = zeros(1), data = zeros(2), torn = zeros(1);
  seqlock<<<4, 32>>>(seq, data, torn);
  CUDA(cudaDeviceSynchronize());
  CHECK(*torn == 0 && *seq == 16);
}

// A ring between two blocks: one puts, one takes.
__global__ void ring(volatile unsigned *head, volatile unsigned *tail, unsigned *slots, unsigned *out) {
  if (threadIdx.x) return;
  for (unsigned i = 0; i < 20; i++)
    if (blockIdx.x == 0) {
      while (i - *tail >= 4);
      __threadfence();
      slots[i % 4] = i * 10;
      __threadfence();
      *head = i + 1;
    } else {
      while (*head <= i);
      __threadfence();
      out[i] = slots[i % 4];
      __threadfence();
      *tail = i + 1;
    }
}
static void do_ring() {
  auto head = zeros(1), tail = zeros(1), slots = zeros(4), out = zeros(20);
  ring<<<2, 32>>>(head, tail, slots, out);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned i = 0; i < 20; i++) bad += out[i] != i * 10;
  CHECK(bad == 0);
}

// Warps of one block, one puts and one takes, in shared memory, all lanes.
__global__ void warp_ring(unsigned *out) {
  __shared__ unsigned slots[2][32];
  __shared__ volatile unsigned full, empty;
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) full = empty = 0;
  __syncthreads();
  for (unsigned i = 0; i < 8; i++)
    if (warp == 0) {
      if (lane == 0) {
        while (i - empty >= 2);
        __threadfence_block();
      }
      __syncwarp();
      slots[i % 2][lane] = i * 32 + lane;
      __syncwarp();
      if (lane == 0) {
        __threadfence_block();
        full = i + 1;
      }
    } else {
      if (lane == 0) {
        while (full <= i);
        __threadfence_block();
      }
      __syncwarp();
      out[i * 32 + lane] = slots[i % 2][31 - lane];
      __syncwarp();
      if (lane == 0) {
        __threadfence_block();
        empty = i + 1;
      }
    }
}
static void do_warp_ring() {
  auto out = zeros(256);
  warp_ring<<<1, 64>>>(out);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned i = 0; i < 256; i++) bad += out[i] != i / 32 * 32 + 31 - i % 32;
  CHECK(bad == 0);
}

// Lanes that add to one counter agree on one atomic.
__device__ unsigned aggregated(unsigned *counter) {
  unsigned mask = __activemask(), lane = threadIdx.x % 32, leader = __ffs(mask) - 1, base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(mask));
  return __shfl_sync(mask, base, leader) + __popc(mask & ((1u << lane) - 1));
}
__global__ void filter(const unsigned *in, unsigned *out, unsigned *count) {
  unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (v % 3 == 0) out[aggregated(count)] = v;
}
static void do_filter() {
  auto in = managed<unsigned>(512), out = zeros(512), count = zeros(1);
  unsigned sum = 0, n = 0, got = 0;
  for (int i = 0; i < 512; i++) {
    in[i] = i * 17 % 101;
    if (in[i] % 3 == 0) sum += in[i], n++;
  }
  filter<<<4, 128>>>(in, out, count);
  CUDA(cudaDeviceSynchronize());
  for (unsigned i = 0; i < *count; i++) got += out[i];
  CHECK(*count == n && got == sum);
}

// Lanes with equal keys add together (match).
__global__ void by_key(const unsigned *in, unsigned *bins) {
  unsigned key = in[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned peers = __match_any_sync(ALL, key);
  if (__ffs(peers) - 1 == threadIdx.x % 32) atomicAdd(&bins[key], __popc(peers));
}
static void do_by_key() {
  auto in = managed<unsigned>(512), bins = zeros(13);
  unsigned want[13] = {}, bad = 0;
  for (int i = 0; i < 512; i++) want[in[i] = i * i % 13]++;
  by_key<<<4, 128>>>(in, bins);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 13; i++) bad += bins[i] != want[i];
  CHECK(bad == 0);
}

// Blocks that stay and take work until none is left; the last to leave resets the counters.
__global__ void persistent(unsigned *next, unsigned *left, unsigned *out, unsigned tiles) {
  __shared__ unsigned tile;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    if (tile >= tiles) break;
    out[tile * blockDim.x + threadIdx.x] = tile + threadIdx.x;
  }
  if (threadIdx.x) return;
  __threadfence();
  bool last = atomicAdd(left, 1) == gridDim.x - 1;
  __threadfence();
  if (last) *next = *left = 0;
}
static void do_persistent() {
  auto next = zeros(1), left = zeros(1), out = zeros(20 * 64);
  for (int round = 0; round < 2; round++) persistent<<<3, 64>>>(next, left, out, 20);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned i = 0; i < 20 * 64; i++) bad += out[i] != i / 64 + i % 64;
  CHECK(bad == 0 && *next == 0 && *left == 0);
}

// Work that makes more work: a queue in global memory, whose items have a flag each.
__global__ void work_queue(volatile unsigned *ready, unsigned *items, unsigned *head, unsigned *tail, unsigned *done, unsigned *sum) {
  if (threadIdx.x % 32) return;
  while (*(volatile unsigned *)done < 31) {
    unsigned h = *(volatile unsigned *)head;
    if (h >= *(volatile unsigned *)tail || !ready[h] || atomicCAS(head, h, h + 1) != h) continue;
    __threadfence();
    unsigned item = items[h];
    atomicAdd(sum, item);
    if (item < 16) {
      unsigned at = atomicAdd(tail, 2);
      for (unsigned k = 0; k < 2; k++) {
        items[at + k] = 2 * item + k;
        __threadfence();
        ready[at + k] = 1;
      }
    }
    atomicAdd(done, 1);
  }
}
static void do_work_queue() {
  auto ready = zeros(64), items = zeros(64), head = zeros(1), tail = zeros(1), done = zeros(1), sum = zeros(1);
  items[0] = 1, ready[0] = 1, *tail = 1;
  work_queue<<<3, 64>>>(ready, items, head, tail, done, sum);
  CUDA(cudaDeviceSynchronize());
  CHECK(*sum == 31 * 32 / 2);
}

// A barrier of the grid that counts and turns (all blocks are resident).
__device__ void grid_barrier(unsigned *count, volatile unsigned *sense, unsigned n) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned s = *sense;
    __threadfence();
    if (atomicAdd(count, 1) == n - 1) {
      *count = 0;
      __threadfence();
      *sense = s + 1;
    } else
      while (*sense == s);
    __threadfence();
  }
  __syncthreads();
}
__global__ void stencil(unsigned *a, unsigned *b, unsigned *count, unsigned *sense) {
  unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int step = 0; step < 4; step++) {
    b[i] = a[(i + n - 1) % n] + a[(i + 1) % n];
    grid_barrier(count, sense, gridDim.x);
    a[i] = b[(i + 1) % n];
    grid_barrier(count, sense, gridDim.x);
  }
}
static void do_grid_barrier() {
  unsigned n = 4 * 32;
  auto a = zeros(n), b = zeros(n), count = zeros(1), sense = zeros(1);
  unsigned x[128], y[128], bad = 0;
  for (unsigned i = 0; i < n; i++) x[i] = a[i] = i;
  stencil<<<4, 32>>>(a, b, count, sense);
  CUDA(cudaDeviceSynchronize());
  for (int step = 0; step < 4; step++) {
    for (unsigned i = 0; i < n; i++) y[i] = x[(i + n - 1) % n] + x[(i + 1) % n];
    for (unsigned i = 0; i < n; i++) x[i] = y[(i + 1) % n];
  }
  for (unsigned i = 0; i < n; i++) bad += a[i] != x[i];
  CHECK(bad == 0);
}

// Two buffers filled by cp.async while the other is used.
__global__ void double_buffered(const float *in, float *out, int tiles) {
  __shared__ __align__(16) float buffer[2][256];
  unsigned t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&buffer[0][t * 4], &in[t * 4], 16);
  __pipeline_commit();
  for (int i = 0; i < tiles; i++) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&buffer[(i + 1) % 2][t * 4], &in[(i + 1) * 256 + t * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < 4; k++) sum += buffer[i % 2][(t * 4 + 4 + k) % 256];
    __syncthreads();
  }
  out[t] = sum;
}
static void do_double_buffered() {
  auto in = managed<float>(8 * 256), out = managed<float>(64);
  for (int i = 0; i < 8 * 256; i++) in[i] = i % 17;
  double_buffered<<<1, 64>>>(in, out, 8);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (int t = 0; t < 64; t++) {
    float sum = 0;
    for (int i = 0; i < 8; i++)
      for (int k = 0; k < 4; k++) sum += in[i * 256 + (t * 4 + 4 + k) % 256];
    bad += sum != out[t];
  }
  CHECK(bad == 0);
}

// A transpose in shared memory by warps that need only their own rows.
__global__ void warp_transpose(const unsigned *in, unsigned *out) {
  __shared__ unsigned tile[4][32][33];
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int r = 0; r < 32; r++) tile[warp][r][lane] = in[(warp * 32 + r) * 32 + lane];
  __syncwarp();
  for (int r = 0; r < 32; r++) out[(warp * 32 + r) * 32 + lane] = tile[warp][lane][r];
}
static void do_warp_transpose() {
  auto in = managed<unsigned>(4096), out = zeros(4096);
  unsigned bad = 0;
  for (int i = 0; i < 4096; i++) in[i] = i;
  warp_transpose<<<1, 128>>>(in, out);
  CUDA(cudaDeviceSynchronize());
  for (int w = 0; w < 4; w++)
    for (int r = 0; r < 32; r++)
      for (int c = 0; c < 32; c++) bad += out[(w * 32 + r) * 32 + c] != in[(w * 32 + c) * 32 + r];
  CHECK(bad == 0);
}

// A bitonic sort in shared memory: warps need barriers of the block for far partners only.
__global__ void bitonic(unsigned *data) {
  __shared__ unsigned s[128];
  unsigned t = threadIdx.x;
  s[t] = data[t];
  for (unsigned size = 2; size <= 128; size *= 2)
    for (unsigned step = size / 2; step; step /= 2) {
      if (step >= 32 || size > 32) __syncthreads(); else __syncwarp();
      unsigned other = t ^ step, a = s[t], b = s[other];
      if (step >= 32 || size > 32) __syncthreads(); else __syncwarp();
      bool up = !(t & size);
      s[t] = (t < other) == up ? min(a, b) : max(a, b);
    }
  __syncthreads();
  data[t] = s[t];
}
static void do_bitonic() {
  auto data = managed<unsigned>(128);
  unsigned bad = 0;
  for (unsigned i = 0; i < 128; i++) data[i] = i * 37 % 128;
  bitonic<<<1, 128>>>(data);
  CUDA(cudaDeviceSynchronize());
  for (unsigned i = 0; i < 128; i++) bad += data[i] != i;
  CHECK(bad == 0);
}

// Named barriers: one warp fills while three use, in turns.
__global__ void producer_consumer(unsigned *out) {
  __shared__ unsigned slot[96];
  unsigned t = threadIdx.x, sum = 0;
  for (int i = 0; i < 5; i++)
    if (t < 32) {
      if (i) asm volatile("bar.sync 2, 128;" ::: "memory");
      for (int k = 0; k < 3; k++) slot[k * 32 + t] = i * 100 + k;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      sum += slot[(t - 32 + 17) % 96];
      if (i < 4) asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  if (t >= 32) out[t - 32] = sum;
}
static void do_producer_consumer() {
  auto out = zeros(96);
  producer_consumer<<<1, 128>>>(out);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned t = 0; t < 96; t++) bad += out[t] != 1000 + 5 * ((t + 17) % 96 / 32);
  CHECK(bad == 0);
}

// Union-find by atomicMin and plain-looking reads that are volatile.
__global__ void hook(volatile unsigned *parent, const unsigned *from, const unsigned *to, unsigned edges) {
  unsigned e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  unsigned a = from[e], b = to[e];
  for (;;) {
    while (parent[a] != a) a = parent[a];
    while (parent[b] != b) b = parent[b];
    if (a == b) return;
    unsigned hi = max(a, b), lo = min(a, b);
    unsigned old = atomicMin((unsigned *)&parent[hi], lo);
    if (old == hi) return;
    a = old, b = lo;
  }
}
static void do_union_find() {
  auto parent = managed<unsigned>(64), from = managed<unsigned>(62), to = managed<unsigned>(62);
  for (unsigned i = 0; i < 64; i++) parent[i] = i;
  for (unsigned i = 0; i < 62; i++) from[i] = i, to[i] = i + 2;
  hook<<<2, 32>>>(parent, from, to, 62);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned i = 0; i < 64; i++) {
    unsigned r = i;
    while (parent[r] != r) r = parent[r];
    bad += r != i % 2;
  }
  CHECK(bad == 0);
}

// A hash table with open addresses: keys by CAS, values after.
__global__ void insert(unsigned *keys, unsigned *counts, const unsigned *in) {
  unsigned k = in[blockIdx.x * blockDim.x + threadIdx.x] + 1;
  for (unsigned at = k * 2654435761u % 64;; at = (at + 1) % 64) {
    unsigned old = atomicCAS(&keys[at], 0, k);
    if (old == 0 || old == k) {
      atomicAdd(&counts[at], 1);
      return;
    }
  }
}
static void do_hash() {
  auto keys = zeros(64), counts = zeros(64), in = managed<unsigned>(256);
  unsigned want[41] = {}, bad = 0;
  for (int i = 0; i < 256; i++) want[in[i] = i * i % 41]++;
  insert<<<2, 128>>>(keys, counts, in);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) bad += keys[i] && counts[i] != want[keys[i] - 1];
  CHECK(bad == 0);
}

// A float maximum by CAS, and a double sum by CAS.
__global__ void by_cas(const float *in, int *most, unsigned long long *sum) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int old = *most, seen; __int_as_float(old) < v; old = seen) {
    seen = atomicCAS(most, old, __float_as_int(v));
    if (seen == old) break;
  }
  unsigned long long old = *sum, seen;
  do {
    seen = old;
    old = atomicCAS(sum, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (old != seen);
}
static void do_by_cas() {
  auto in = managed<float>(256);
  auto most = managed<int>(1);
  auto sum = managed<unsigned long long>(1);
  *most = 0, *sum = 0;
  double want = 0;
  for (int i = 0; i < 256; i++) want += in[i] = i * 7 % 256;
  by_cas<<<4, 64>>>(in, most, sum);
  CUDA(cudaDeviceSynchronize());
  double got;
  memcpy(&got, sum, 8);
  CHECK(got == want && *(float *)most == 255);
}

// The first lane of a warp keeps the sum in the place of a word that its lanes have read.
__global__ void keep(unsigned *out) {
  __shared__ unsigned sums[32];
  unsigned t = threadIdx.x;
  sums[t % 32] = t;
  __syncthreads();
  if (t < 32) {
    unsigned v = sums[t];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(ALL, v, d);
    if (t == 0) sums[0] = v;
  }
  __syncthreads();
  out[t] = sums[0];
}
static void do_keep() {
  auto out = zeros(32);
  keep<<<1, 32>>>(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(out[5] == 31 * 16);
}

// ** streams, events, graphs

__global__ void fill(unsigned *p, unsigned v) { p[blockIdx.x * blockDim.x + threadIdx.x] = v + threadIdx.x; }
__global__ void add(unsigned *to, const unsigned *from) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] += from[i];
}
static void do_fork_join() {
  cudaStream_t a, b, c;
  cudaEvent_t forked, joined[2];
  for (auto s : {&a, &b, &c}) CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  for (auto e : {&forked, &joined[0], &joined[1]}) CUDA(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
  unsigned *p, *q, *host;
  CUDA(cudaMallocAsync(&p, 1024, a));
  CUDA(cudaMallocAsync(&q, 1024, a));
  CUDA(cudaMallocHost(&host, 1024));
  for (unsigned round = 0; round < 3; round++) {
    fill<<<2, 128, 0, a>>>(p, round);
    CUDA(cudaEventRecord(forked, a));
    CUDA(cudaStreamWaitEvent(b, forked));
    CUDA(cudaStreamWaitEvent(c, forked));
    fill<<<1, 128, 0, b>>>(q, 5);
    fill<<<1, 128, 0, c>>>(q + 128, 7);
    CUDA(cudaEventRecord(joined[0], b));
    CUDA(cudaEventRecord(joined[1], c));
    CUDA(cudaStreamWaitEvent(a, joined[0]));
    CUDA(cudaStreamWaitEvent(a, joined[1]));
    add<<<2, 128, 0, a>>>(p, q);
    CUDA(cudaMemcpyAsync(host, p, 1024, cudaMemcpyDeviceToHost, a));
  }
  CUDA(cudaFreeAsync(p, a));
  CUDA(cudaFreeAsync(q, a));
  CUDA(cudaStreamSynchronize(a));
  unsigned bad = 0;
  for (unsigned i = 0; i < 256; i++) bad += host[i] != 2 + i % 128 * 2 + (i < 128 ? 5 : 7);
  CHECK(bad == 0);
}
static void do_captured() {
  cudaStream_t a, b;
  cudaEvent_t e, f;
  CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CUDA(cudaEventCreate(&e));
  CUDA(cudaEventCreate(&f));
  unsigned *p, *q;
  CUDA(cudaMalloc(&p, 1024));
  CUDA(cudaMalloc(&q, 1024));
  CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
  fill<<<2, 128, 0, a>>>(p, 1);
  CUDA(cudaEventRecord(e, a));
  CUDA(cudaStreamWaitEvent(b, e));
  fill<<<2, 128, 0, b>>>(q, 3);
  CUDA(cudaEventRecord(f, b));
  fill<<<2, 128, 0, a>>>(p, 2);
  CUDA(cudaStreamWaitEvent(a, f));
  add<<<2, 128, 0, a>>>(p, q);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamEndCapture(a, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, i % 2 ? a : a));
  CUDA(cudaStreamSynchronize(a));
  unsigned host[256], bad = 0;
  CUDA(cudaMemcpy(host, p, 1024, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 256; i++) bad += host[i] != 5 + i % 128 * 2;
  CHECK(bad == 0);
}
// The oldest way: pageable memory to the device, kernels in the default stream and in a blocking one.
static void do_pageable() {
  unsigned host[256], *p, bad = 0;
  cudaStream_t s;
  CUDA(cudaStreamCreate(&s));
  CUDA(cudaMalloc(&p, 1024));
  for (int round = 0; round < 2; round++) {
    for (unsigned i = 0; i < 256; i++) host[i] = i + round;
    CUDA(cudaMemcpy(p, host, 1024, cudaMemcpyHostToDevice));
    add<<<2, 128, 0, s>>>(p, p);
    CUDA(cudaMemcpy(host, p, 1024, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 256; i++) bad += host[i] != 2 * (i + round);
  }
  CHECK(bad == 0);
}
// Chunks over two streams, pinned memory used again once its event has come.
static void do_staging() {
  cudaStream_t s[2];
  cudaEvent_t free_again[2];
  unsigned *host[2], *p[2], bad = 0, *out;
  CUDA(cudaMallocHost(&out, 8 * 1024));
  for (int i = 0; i < 2; i++) {
    CUDA(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&free_again[i]));
    CUDA(cudaMallocHost(&host[i], 1024));
    CUDA(cudaMalloc(&p[i], 1024));
  }
  for (unsigned i = 0; i < 8; i++) {
    unsigned k = i % 2;
    CUDA(cudaEventSynchronize(free_again[k]));
    for (unsigned j = 0; j < 256; j++) host[k][j] = i * 1000 + j;
    CUDA(cudaMemcpyAsync(p[k], host[k], 1024, cudaMemcpyHostToDevice, s[k]));
    CUDA(cudaEventRecord(free_again[k], s[k]));
    add<<<2, 128, 0, s[k]>>>(p[k], p[k]);
    CUDA(cudaMemcpyAsync(out + i * 256, p[k], 1024, cudaMemcpyDeviceToHost, s[k]));
  }
  CUDA(cudaDeviceSynchronize());
  for (unsigned i = 0; i < 8 * 256; i++) bad += out[i] != 2 * (i / 256 * 1000 + i % 256);
  CHECK(bad == 0);
}

int main(int argc, char **argv) {
  struct {
    const char *name;
    void (*run)();
  } all[] = {{"last_block", do_last_block}, {"last_warp", do_last_warp}, {"look_back", do_look_back}, {"chained", do_chained},
             {"ticket_lock", do_ticket_lock}, {"spin_lock", do_spin_lock}, {"lock_in_loop", do_lock_in_loop},
             {"stack", do_stack}, {"seqlock", do_seqlock}, {"ring", do_ring}, {"warp_ring", do_warp_ring},
             {"filter", do_filter}, {"by_key", do_by_key}, {"persistent", do_persistent}, {"work_queue", do_work_queue},
             {"grid_barrier", do_grid_barrier}, {"double_buffered", do_double_buffered},
             {"warp_transpose", do_warp_transpose}, {"bitonic", do_bitonic}, {"producer_consumer", do_producer_consumer},
             {"union_find", do_union_find}, {"hash", do_hash}, {"by_cas", do_by_cas}, {"keep", do_keep}, {"fork_join", do_fork_join},
             {"captured", do_captured}, {"pageable", do_pageable}, {"staging", do_staging}};
  for (auto &each : all)
    if (argc == 1 || !strcmp(argv[1], each.name)) each.run();
    else if (!strcmp(argv[1], "list")) puts(each.name);
  return verdict();
}
