// Idioms of CUDA's libraries: groups, barriers, pipelines, semaphores, latches, atomic references. Each is right.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/semaphore>
#include "check.h"
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

static unsigned *zeros(int n) {
  auto p = managed<unsigned>(n);
  memset(p, 0, n * sizeof *p);
  return p;
}
static unsigned bad_of(const unsigned *p, unsigned n, unsigned (*want)(unsigned)) {
  unsigned bad = 0;
  for (unsigned i = 0; i < n; i++) bad += p[i] != want(i);
  return bad;
}

// Tiles of several warps: sync, shuffle, reduce, scan, votes, in rounds.
template <int N>
__global__ void big_tiles(unsigned *out) {
  __shared__ cg::block_tile_memory<256> memory;
  __shared__ unsigned words[256];
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<N>(block);
  unsigned t = threadIdx.x, sum = 0;
  for (unsigned round = 0; round < 3; round++) {
    words[t] = t + round;
    tile.sync();
    unsigned first = t / N * N;
    sum += words[first + (t - first + 33) % N];
    tile.sync();
    sum += cg::reduce(tile, t & 3, cg::plus<unsigned>());
    sum += tile.shfl(t, round * 7) + tile.any(t == 5) + tile.all(t < 999);
    sum += cg::exclusive_scan(tile, 1u);
  }
  out[t] = sum;
}
template <int N>
static void do_big_tiles() {
  auto out = zeros(256);
  big_tiles<N><<<1, 256>>>(out);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned t = 0; t < 256; t++) {
    unsigned f = t / N * N, sum = 0;
    for (unsigned r = 0; r < 3; r++) sum += f + (t - f + 33) % N + r + N / 4 * 6 + f + r * 7 + (f == 0) + 1 + t - f;
    bad += out[t] != sum;
  }
  CHECK(bad == 0);
}
// One thread of a big tile does something, and tells the others.
__global__ void broadcast(unsigned *counter, unsigned *out) {
  __shared__ cg::block_tile_memory<128> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  for (int i = 0; i < 3; i++) {
    unsigned at = cg::invoke_one_broadcast(tile, [&] { return atomicAdd(counter, 64); });
    out[at + tile.thread_rank()] = at;
  }
}
static void do_broadcast() {
  auto counter = zeros(1), out = zeros(4 * 64 * 3);
  broadcast<<<2, 128>>>(counter, out);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 4 * 64 * 3, [](unsigned i) { return i / 64 * 64; }) == 0);
}
// Results stored or added by whoever ends last.
__global__ void async_reduce(unsigned *stored, cuda::atomic<unsigned, cuda::thread_scope_device> *total) {
  __shared__ cg::block_tile_memory<128> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  for (int i = 0; i < 3; i++) {
    cg::reduce_update_async(tile, *total, threadIdx.x, cg::plus<unsigned>());
    cg::reduce_store_async(tile, stored + blockIdx.x * 2 + tile.meta_group_rank(), threadIdx.x, cg::greater<unsigned>());
    tile.sync();
  }
}
static void do_async_reduce() {
  auto stored = zeros(4);
  auto total = (cuda::atomic<unsigned, cuda::thread_scope_device> *)zeros(1);
  async_reduce<<<2, 128>>>(stored, total);
  CUDA(cudaDeviceSynchronize());
  CHECK(*(unsigned *)total == 6 * 127 * 64);
  CHECK(bad_of(stored, 4, [](unsigned i) { return i % 2 ? 127u : 63u; }) == 0);
}
// Groups of lanes: coalesced, labelled, binary; each with its own words.
__global__ void lanes(unsigned *out) {
  __shared__ unsigned words[64];
  unsigned t = threadIdx.x, sum = 0;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (t % 3) {
    auto some = cg::coalesced_threads();
    words[t] = t;
    some.sync();
    unsigned next = some.shfl(t, (some.thread_rank() + 1) % some.size());
    sum += words[next];
    some.sync();
  }
  warp.sync();
  auto label = cg::labeled_partition(warp, t % 4);
  sum += cg::reduce(label, 1u, cg::plus<unsigned>());
  auto half = cg::binary_partition(warp, t % 2 == 0);
  words[t] = half.thread_rank();
  half.sync();
  sum += words[t / 32 * 32 + (t + 2) % 32];
  out[t] = sum;
}
static void do_lanes() {
  auto out = zeros(64);
  lanes<<<1, 64>>>(out);
  CUDA(cudaDeviceSynchronize());
  unsigned bad = 0;
  for (unsigned t = 0; t < 64; t++) {
    unsigned sum = 8 + (t + 2) % 32 / 2, next = t;
    if (t % 3) {
      do next = next / 32 * 32 + (next + 1) % 32; while (next % 3 == 0);
      sum += next;
    }
    bad += out[t] != sum;
  }
  CHECK(bad == 0);
}
// Barriers of the grid, split into arrival and wait.
__global__ void grid(unsigned *a, unsigned *out) {
  auto g = cg::this_grid();
  unsigned i = g.thread_rank(), n = g.size(), sum = 0;
  for (unsigned round = 0; round < 3; round++) {
    a[i] = i + round;
    auto token = g.barrier_arrive();
    sum += round;
    g.barrier_wait(std::move(token));
    sum += a[(i + 77) % n];
    g.sync();
  }
  out[i] = sum;
}
static void do_grid() {
  auto a = zeros(256), out = zeros(256);
  void *args[] = {&a, &out};
  CUDA(cudaLaunchCooperativeKernel((void *)grid, 4, 64, args, 0, 0));
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 256, [](unsigned i) { return 6 + 3 * ((i + 77) % 256); }) == 0);
}
// A histogram spread over the blocks of a cluster.
__global__ void __cluster_dims__(4) spread(const unsigned *in, unsigned *bins, unsigned n) {
  __shared__ unsigned mine[16];
  auto cluster = cg::this_cluster();
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  cluster.sync();
  for (unsigned i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    unsigned b = in[i];
    atomicAdd(cluster.map_shared_rank(mine, b / 16) + b % 16, 1);
  }
  cluster.sync();
  if (threadIdx.x < 16) atomicAdd(&bins[cluster.block_rank() * 16 + threadIdx.x], mine[threadIdx.x]);
}
static void do_spread() {
  auto in = zeros(1000), bins = zeros(64);
  for (unsigned i = 0; i < 1000; i++) in[i] = i * 7 % 50;
  spread<<<8, 64>>>(in, bins, 1000);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(bins, 64, [](unsigned i) { return i < 50 ? 40u : 0u; }) == 0);
}
// Neighbours in a cluster hand tiles round, with arrival and wait apart.
__global__ void __cluster_dims__(2) exchange(unsigned *out) {
  __shared__ unsigned tile[2][64];
  auto cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank(), t = threadIdx.x, sum = 0;
  for (unsigned i = 0; i < 4; i++) {
    tile[i % 2][t] = rank * 1000 + i * 100 + t;
    auto token = cluster.barrier_arrive();
    sum += i;
    cluster.barrier_wait(std::move(token));
    sum += cluster.map_shared_rank(&tile[i % 2][63 - t], rank ^ 1)[0];
  }
  cluster.sync();
  out[blockIdx.x * 64 + t] = sum;
}
static void do_exchange() {
  auto out = zeros(128);
  exchange<<<2, 64>>>(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 128, [](unsigned i) { return 6 + 4 * ((i < 64) * 1000 + 63 - i % 64) + 600; }) == 0);
}
// Arrival and wait apart at cuda::barrier; some threads drop out.
__global__ void split(unsigned *out) {
  __shared__ block_barrier bar;
  __shared__ unsigned words[128];
  unsigned t = threadIdx.x, sum = 0;
  if (t == 0) init(&bar, 128);
  __syncthreads();
  for (unsigned i = 0; i < 3; i++) {
    words[t] = t + i;
    auto token = bar.arrive();
    sum += i;
    bar.wait(std::move(token));
    sum += words[(t + 40) % 128];
    bar.arrive_and_wait();
  }
  if (t >= 96) return bar.arrive_and_drop();
  bar.arrive_and_wait();
  words[t] = sum;
  bar.arrive_and_wait();
  out[t] = words[95 - t];
}
static void do_split() {
  auto out = zeros(96);
  split<<<1, 128>>>(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 96, [](unsigned i) { return 6 + 3 * ((95 - i + 40) % 128); }) == 0);
}
// Producers and consumers with a pair of barriers a stage.
__global__ void stages(const unsigned *in, unsigned *out, int n) {
  __shared__ block_barrier full[2], empty[2];
  __shared__ unsigned buffer[2][64];
  unsigned t = threadIdx.x;
  if (t < 2) init(&full[t], 128), init(&empty[t], 128);
  __syncthreads();
  if (t < 64) {
    for (int i = 0; i < n; i++) {
      empty[i % 2].arrive_and_wait();
      buffer[i % 2][t] = in[i * 64 + t];
      (void)full[i % 2].arrive();
    }
  } else {
    unsigned sum = 0;
    (void)empty[0].arrive();
    (void)empty[1].arrive();
    for (int i = 0; i < n; i++) {
      full[i % 2].arrive_and_wait();
      sum += buffer[i % 2][127 - t];
      (void)empty[i % 2].arrive();
    }
    out[t - 64] = sum;
  }
}
static void do_stages() {
  auto in = zeros(512), out = zeros(64);
  for (unsigned i = 0; i < 512; i++) in[i] = i;
  stages<<<1, 128>>>(in, out, 8);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 64, [](unsigned i) { return 8 * (63 - i) + 28 * 64; }) == 0);
}
// cuda::pipeline, of the block with roles, and of one thread.
__global__ void piped(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned buffer[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  unsigned t = threadIdx.x, sum = 0;
  auto role = t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  for (int i = 0; i < n; i++)
    if (t < 32) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[i % 2][t * 2], in + i * 64 + t * 2, cuda::aligned_size_t<8>(8), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      sum += buffer[i % 2][95 - t];
      pipe.consumer_release();
    }
  if (t >= 32) out[t - 32] = sum;
}
__global__ void piped_alone(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned buffer[3][64];
  auto pipe = cuda::make_pipeline();
  unsigned t = threadIdx.x, sum = 0;
  for (int i = 0, at = 0; i < n; i++) {
    for (; at < n && at < i + 3; at++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[at % 3][t], in + at * 64 + t, sizeof(unsigned), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    __syncthreads();
    sum += buffer[i % 3][63 - t];
    __syncthreads();
    pipe.consumer_release();
  }
  out[t] = sum;
}
static void do_piped() {
  auto in = zeros(512), out = zeros(64), alone = zeros(64);
  for (unsigned i = 0; i < 512; i++) in[i] = i;
  piped<<<1, 96>>>(in, out, 8);
  piped_alone<<<1, 64>>>(in, alone, 8);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 64, [](unsigned i) { return 8 * (63 - i) + 28 * 64; }) == 0);
  CHECK(bad_of(alone, 64, [](unsigned i) { return 8 * (63 - i) + 28 * 64; }) == 0);
}
// cg::memcpy_async and cg::wait_prior.
__global__ void group_copies(const unsigned *in, unsigned *out) {
  __shared__ unsigned buffer[2][128];
  auto block = cg::this_thread_block();
  unsigned t = threadIdx.x, sum = 0;
  cg::memcpy_async(block, buffer[0], in, sizeof buffer[0]);
  for (int i = 0; i < 4; i++) {
    if (i < 3) {
      cg::memcpy_async(block, buffer[(i + 1) % 2], in + (i + 1) * 128, sizeof buffer[0]);
      cg::wait_prior<1>(block);
    } else
      cg::wait(block);
    sum += buffer[i % 2][127 - t];
    block.sync();
  }
  out[t] = sum;
}
static void do_group_copies() {
  auto in = zeros(512), out = zeros(128);
  for (unsigned i = 0; i < 512; i++) in[i] = i;
  group_copies<<<1, 128>>>(in, out);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 128, [](unsigned i) { return 4 * (127 - i) + 6 * 128; }) == 0);
}
// Bulk copies in, work, bulk copies out, in rounds (TMA without a tensor map).
__global__ void bulk(const unsigned *in, unsigned *out, int n) {
  __shared__ alignas(128) unsigned buffer[2][256];
  __shared__ block_barrier bar[2];
  unsigned t = threadIdx.x;
  if (t == 0) {
    init(&bar[0], 128);
    init(&bar[1], 128);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  for (int i = 0; i < n; i++) {
    auto &words = buffer[i % 2];
    block_barrier::arrival_token token;
    if (t == 0) {
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
      cuda::memcpy_async(words, in + i * 256, cuda::aligned_size_t<16>(sizeof words), bar[i % 2]);
      token = bar[i % 2].arrive();
    } else
      token = bar[i % 2].arrive();
    bar[i % 2].wait(std::move(token));
    for (unsigned k = t; k < 256; k += 128) words[k] += 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * 256, words, sizeof words);
      ptx::cp_async_bulk_commit_group();
    }
  }
  if (t == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
static void do_bulk() {
  auto in = zeros(1280), out = zeros(1280);
  for (unsigned i = 0; i < 1280; i++) in[i] = i;
  bulk<<<1, 128>>>(in, out, 5);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 1280, [](unsigned i) { return i + 1; }) == 0);
}
// A semaphore that lets two blocks in, a latch that lets all go on.
using semaphore = cuda::counting_semaphore<cuda::thread_scope_device, 2>;
__global__ void gate(semaphore *door, cuda::atomic<int, cuda::thread_scope_device> *inside, unsigned *most) {
  if (threadIdx.x) return;
  door->acquire();
  int n = inside->fetch_add(1, cuda::memory_order_relaxed) + 1;
  atomicMax(most, n);
  inside->fetch_sub(1, cuda::memory_order_relaxed);
  door->release();
}
__global__ void latched(cuda::latch<cuda::thread_scope_device> *latch, unsigned *words, unsigned *out) {
  unsigned b = blockIdx.x;
  if (threadIdx.x) return;
  words[b] = b * b;
  latch->arrive_and_wait();
  out[b] = words[(b + 1) % gridDim.x];
}
__global__ void make(semaphore *door, cuda::latch<cuda::thread_scope_device> *latch) {
  new (door) semaphore(2);
  new (latch) cuda::latch<cuda::thread_scope_device>(4);
}
static void do_gate() {
  auto door = managed<semaphore>(1);
  auto latch = managed<cuda::latch<cuda::thread_scope_device>>(1);
  auto inside = zeros(1), most = zeros(1), words = zeros(4), out = zeros(4);
  make<<<1, 1>>>(door, latch);
  gate<<<6, 32>>>(door, (cuda::atomic<int, cuda::thread_scope_device> *)inside, most);
  latched<<<4, 32>>>(latch, words, out);
  CUDA(cudaDeviceSynchronize());
  CHECK(*most >= 1 && *most <= 2 && *inside == 0);
  CHECK(bad_of(out, 4, [](unsigned i) { return (i + 1) % 4 * ((i + 1) % 4); }) == 0);
}
// atomic_ref and atomic_flag-like waits: message passing, notify, a lock, a chain.
__global__ void messages(unsigned *flag, unsigned *data, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0) f.store(1, cuda::memory_order_release), f.notify_all();
  } else {
    if (threadIdx.x == 0) f.wait(0, cuda::memory_order_acquire);
    __syncthreads();
    out[threadIdx.x] = data[63 - threadIdx.x];
  }
}
__global__ void locked(cuda::atomic<int, cuda::thread_scope_device> *lock, unsigned *data) {
  if (threadIdx.x % 32 == 0) {
    int expected = 0;
    while (!lock->compare_exchange_weak(expected, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) expected = 0;
    data[0] += 1;
    data[1] += data[0];
    lock->store(0, cuda::memory_order_release);
  }
}
__global__ void fences(unsigned *flag, unsigned *data, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*flag);
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    *data = 42;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    f.store(1, cuda::memory_order_relaxed);
  } else {
    while (f.load(cuda::memory_order_relaxed) == 0);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    *out = *data;
  }
}
static void do_messages() {
  auto flag = zeros(1), data = zeros(64), out = zeros(64), lock = zeros(1), both = zeros(2), one = zeros(3);
  messages<<<2, 64>>>(flag, data, out);
  locked<<<4, 64>>>((cuda::atomic<int, cuda::thread_scope_device> *)lock, both);
  fences<<<2, 32>>>(one, one + 1, one + 2);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 64, [](unsigned i) { return (63 - i) * 3; }) == 0);
  CHECK(both[0] == 8 && both[1] == 36 && one[2] == 42);
}
// One lane acquires for its warp, and a shuffle or a vote tells the others.
__global__ void for_its_warp(unsigned *flag, unsigned *data, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*flag);
  unsigned lane = threadIdx.x;
  if (blockIdx.x == 0) {
    data[lane] = lane + 5;
    __syncwarp();
    if (lane == 0) f.store(7, cuda::memory_order_release);
    return;
  }
  unsigned got = 0;
  if (lane == 0)
    while (!(got = f.load(cuda::memory_order_acquire)));
  got = __shfl_sync(0xffffffff, got, 0);
  out[lane] = data[31 - lane] + got;
}
static void do_for_its_warp() {
  auto flag = zeros(1), data = zeros(32), out = zeros(32);
  for_its_warp<<<2, 32>>>(flag, data, out);
  CUDA(cudaDeviceSynchronize());
  CHECK(bad_of(out, 32, [](unsigned i) { return 31 - i + 12; }) == 0);
}

int main(int argc, char **argv) {
  struct {
    const char *name;
    void (*run)();
  } all[] = {{"big_tiles_64", do_big_tiles<64>}, {"big_tiles_128", do_big_tiles<128>}, {"big_tiles_256", do_big_tiles<256>},
             {"broadcast", do_broadcast}, {"async_reduce", do_async_reduce}, {"lanes", do_lanes}, {"grid", do_grid},
             {"spread", do_spread}, {"exchange", do_exchange}, {"split", do_split}, {"stages", do_stages}, {"piped", do_piped},
             {"group_copies", do_group_copies}, {"bulk", do_bulk}, {"gate", do_gate}, {"messages", do_messages},
             {"for_its_warp", do_for_its_warp}};
  for (auto &each : all)
    if (argc == 1 || !strcmp(argv[1], each.name)) each.run();
    else if (!strcmp(argv[1], "list")) puts(each.name);
  return verdict();
}
