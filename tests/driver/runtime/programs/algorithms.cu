// What users write: a hash table, a search in a graph, sparse rows, a stencil with a halo, a scan that looks back, a
// sort, a transform, sets that are joined. Each is compared with the same on the host.
#include <algorithm>
#include <complex>
#include <cuda/atomic>
#include <numeric>
#include <queue>
#include <vector>
#include "check.h"

static unsigned state = 12345;
static unsigned draw() { return (state = state * 1664525u + 1013904223u) >> 8; }
template <class T> static T *device(const std::vector<T> &host) {
  T *memory;
  CUDA(cudaMalloc(&memory, host.size() * sizeof(T)));
  CUDA(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}
template <class T> static T *scratch(size_t count) {
  T *memory;
  CUDA(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}
template <class T> static std::vector<T> host(const T *memory, size_t count) {
  std::vector<T> made(count);
  CUDA(cudaMemcpy(made.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return made;
}

// ** a hash table with open addresses; keys are counted
struct Slot { unsigned key, count; };
__global__ void insert(Slot *table, unsigned mask, const unsigned *keys, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned key = keys[i], at = key * 2654435761u & mask;
    while (true) {
      unsigned old = atomicCAS(&table[at].key, 0xffffffff, key);
      if (old == 0xffffffff || old == key) break;
      at = (at + 1) & mask;
    }
    atomicAdd(&table[at].count, 1);
  }
}
__global__ void clear(Slot *table) { table[blockIdx.x * blockDim.x + threadIdx.x] = {0xffffffff, 0}; }
static void hash_table() {
  std::vector<unsigned> keys(3000);
  for (auto &key : keys) key = draw() % 700;
  auto *table = scratch<Slot>(2048);
  clear<<<16, 128>>>(table);
  insert<<<8, 128>>>(table, 2047, device(keys), 3000);
  std::vector<int> counts(700), wanted(700);
  for (auto &slot : host(table, 2048))
    if (slot.key != 0xffffffff) counts[slot.key] += slot.count;
  for (auto key : keys) wanted[key]++;
  CHECK(counts == wanted);
}

// ** breadth first: a queue of each level, that only its count makes valid
__global__ void level(const int *first, const int *next, int *distance, const int *queue, int n, int *more, int *count, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int from = queue[i];
  for (int e = first[from]; e < first[from + 1]; e++)
    if (atomicCAS(&distance[next[e]], -1, d) == -1) more[atomicAdd(count, 1)] = next[e];
}
static void search() {
  const int N = 500;
  std::vector<std::vector<int>> out(N);
  for (int i = 0; i < 900; i++) out[draw() % N].push_back(draw() % N);
  std::vector<int> first(N + 1), next, wanted(N, -1), distance(N, -1);
  for (int i = 0; i < N; i++) first[i + 1] = first[i] + out[i].size(), next.insert(next.end(), out[i].begin(), out[i].end());
  wanted[0] = distance[0] = 0;
  for (std::queue<int> open({0}); !open.empty(); open.pop())
    for (int to : out[open.front()])
      if (wanted[to] < 0) wanted[to] = wanted[open.front()] + 1, open.push(to);
  int *f = device(first), *e = device(next), *d = device(distance), *queues[] = {scratch<int>(N), scratch<int>(N)}, *count = scratch<int>(1);
  CUDA(cudaMemset(queues[0], 0, 4));
  for (int n = 1, step = 1; n; step++) {
    CUDA(cudaMemset(count, 0, 4));
    level<<<(n + 63) / 64, 64>>>(f, e, d, queues[0], n, queues[1], count, step);
    CUDA(cudaMemcpy(&n, count, 4, cudaMemcpyDeviceToHost));
    std::swap(queues[0], queues[1]);
  }
  CHECK(host(d, N) == wanted);
}

// ** rows of a sparse matrix, a warp a row
__global__ void rows(const int *first, const int *column, const float *value, const float *x, float *y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float sum = 0;
  for (int i = first[row] + lane; i < first[row + 1]; i += 32) sum += value[i] * x[column[i]];
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}
static void sparse() {
  const int N = 77;
  std::vector<int> first(N + 1), column;
  std::vector<float> value, x(N), wanted(N);
  for (auto &each : x) each = draw() % 8;
  for (int row = 0; row < N; row++) {
    for (int i = draw() % 70; i--;) column.push_back(draw() % N), value.push_back(draw() % 8), wanted[row] += value.back() * x[column.back()];
    first[row + 1] = column.size();
  }
  auto *y = scratch<float>(N);
  rows<<<(N + 3) / 4, 128>>>(device(first), device(column), device(value), device(x), y, N);
  CHECK(host(y, N) == wanted);
}

// ** the game of life, a tile with its halo
__global__ void life(const unsigned char *in, unsigned char *out, int width, int height) {
  __shared__ unsigned char tile[18][18];
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    int x = blockIdx.x * 16 + i % 18 - 1, y = blockIdx.y * 16 + i / 18 - 1;
    tile[i / 18][i % 18] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0;
  }
  __syncthreads();
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, n = 0;
  if (x >= width || y >= height) return;
  for (int dy = 0; dy < 3; dy++)
    for (int dx = 0; dx < 3; dx++) n += tile[threadIdx.y + dy][threadIdx.x + dx];
  unsigned char self = tile[threadIdx.y + 1][threadIdx.x + 1];
  out[y * width + x] = n == 3 || (self && n == 4);
}
static void cells() {
  const int W = 45, H = 37;
  std::vector<unsigned char> now(W * H), next(W * H);
  for (auto &each : now) each = draw() % 2;
  auto *a = device(now), *b = scratch<unsigned char>(W * H);
  for (int step = 0; step < 4; step++) {
    life<<<dim3(3, 3), dim3(16, 16)>>>(a, b, W, H);
    std::swap(a, b);
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        int n = 0;
        for (int v = std::max(y - 1, 0); v <= std::min(y + 1, H - 1); v++)
          for (int u = std::max(x - 1, 0); u <= std::min(x + 1, W - 1); u++) n += now[v * W + u];
        next[y * W + x] = n == 3 || (now[y * W + x] && n == 4);
      }
    now = next;
  }
  CHECK(host(a, W * H) == now);
}

// ** a scan in one pass: blocks look back at the sums of those before
using Flag = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
__global__ void scan(const int *in, int *out, unsigned long long *told, int n) {
  __shared__ int sums[128], before;
  int i = blockIdx.x * 128 + threadIdx.x;
  sums[threadIdx.x] = i < n ? in[i] : 0;
  for (int d = 1; d < 128; d *= 2) {
    __syncthreads();
    int more = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += more;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    Flag(told[blockIdx.x]).store(1ull << 32 | (unsigned)sums[127], cuda::memory_order_release);
    for (int b = (int)blockIdx.x - 1; b >= 0; b--) {
      unsigned long long word;
      while (!((word = Flag(told[b]).load(cuda::memory_order_acquire)) >> 32)) {}
      sum += (unsigned)word;
      if (word >> 33) break;
    }
    before = sum;
    Flag(told[blockIdx.x]).store(3ull << 32 | (unsigned)(sum + sums[127]), cuda::memory_order_release);
  }
  __syncthreads();
  if (i < n) out[i] = before + sums[threadIdx.x];
}
static void scans() {
  std::vector<int> in(1000), wanted(1000);
  for (auto &each : in) each = draw() % 100;
  std::partial_sum(in.begin(), in.end(), wanted.begin());
  auto *told = scratch<unsigned long long>(8);
  auto *out = scratch<int>(1000);
  CUDA(cudaMemset(told, 0, 64));
  scan<<<8, 128>>>(device(in), out, told, 1000);
  CHECK(host(out, 1000) == wanted);
}

// ** a bitonic sort of pairs whose rows are padded, in dynamic shared memory
struct Pair { float key; char tag; };
__global__ void sort(Pair *pairs) {
  extern __shared__ Pair held[];
  held[threadIdx.x] = pairs[threadIdx.x];
  for (unsigned k = 2; k <= blockDim.x; k *= 2)
    for (unsigned j = k / 2; j; j /= 2) {
      __syncthreads();
      unsigned other = threadIdx.x ^ j;
      if (other > threadIdx.x && (held[threadIdx.x].key > held[other].key) == !(threadIdx.x & k)) {
        Pair kept = held[threadIdx.x];
        held[threadIdx.x] = held[other], held[other] = kept;
      }
    }
  __syncthreads();
  pairs[threadIdx.x] = held[threadIdx.x];
}
__global__ void pair_up(Pair *pairs, const float *keys) { pairs[threadIdx.x].key = keys[threadIdx.x], pairs[threadIdx.x].tag = (char)keys[threadIdx.x]; }
static void sorts() {
  std::vector<float> keys(256);
  std::iota(keys.begin(), keys.end(), 0.0f);
  for (int i = 255; i; i--) std::swap(keys[i], keys[draw() % (i + 1)]);
  auto *pairs = scratch<Pair>(256);
  pair_up<<<1, 256>>>(pairs, device(keys));
  sort<<<1, 256, 256 * sizeof(Pair)>>>(pairs);
  auto sorted = host(pairs, 256);
  for (int i = 0; i < 256; i++) CHECK(sorted[i].key == i && sorted[i].tag == (char)i);
}

// ** a transform by radix 2 with the twiddles in constant memory
__constant__ float2 twiddles[128];
__global__ void transform(const float2 *in, float2 *out) {
  __shared__ float2 x[256];
  x[__brev(threadIdx.x) >> 24] = in[threadIdx.x];
  x[__brev(threadIdx.x + 128) >> 24] = in[threadIdx.x + 128];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    int k = threadIdx.x % half, at = (threadIdx.x / half) * 2 * half + k;
    float2 w = twiddles[k * (128 / half)], a = x[at], b = x[at + half];
    float2 t = {w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x};
    x[at] = {a.x + t.x, a.y + t.y}, x[at + half] = {a.x - t.x, a.y - t.y};
  }
  __syncthreads();
  out[threadIdx.x] = x[threadIdx.x], out[threadIdx.x + 128] = x[threadIdx.x + 128];
}
static void transforms() {
  std::vector<float2> in(256), w(128);
  for (auto &each : in) each = {(float)(draw() % 16), (float)(draw() % 16)};
  for (int i = 0; i < 128; i++) w[i] = {(float)cos(-2 * M_PI * i / 256), (float)sin(-2 * M_PI * i / 256)};
  CUDA(cudaMemcpyToSymbol(twiddles, w.data(), 1024));
  auto *out = scratch<float2>(256);
  transform<<<1, 128>>>(device(in), out);
  auto made = host(out, 256);
  for (int k = 0; k < 256; k++) {
    std::complex<double> sum = 0;
    for (int i = 0; i < 256; i++) sum += std::complex<double>(in[i].x, in[i].y) * std::polar(1.0, -2 * M_PI * i * k / 256);
    CHECK(std::abs(sum - std::complex<double>(made[k].x, made[k].y)) < 2e-2);
  }
}

// ** sets that are joined until nothing changes
__device__ int root(int *parents, int i) {
  while (true) {
    int parent = atomicAdd(&parents[i], 0);
    if (parent == i) return i;
    i = parent;
  }
}
__global__ void join(int *parents, const int2 *edges, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = edges[i].x, b = edges[i].y;
  while (true) {
    a = root(parents, a), b = root(parents, b);
    if (a == b) return;
    if (a < b) { int c = a; a = b, b = c; }
    if (atomicCAS(&parents[a], a, b) == a) return;
  }
}
__global__ void flatten(int *parents, int *roots) { roots[threadIdx.x] = root(parents, threadIdx.x); }
static void sets() {
  const int N = 300;
  std::vector<int> own(N), wanted(N);
  std::iota(own.begin(), own.end(), 0), wanted = own;
  std::vector<int2> edges(200);
  for (auto &each : edges) {
    each = {(int)(draw() % N), (int)(draw() % N)};
    int a = wanted[each.x], b = wanted[each.y];
    for (auto &set : wanted) if (set == a || set == b) set = std::min(a, b);
  }
  int *parents = device(own), *roots = scratch<int>(N);
  join<<<4, 64>>>(parents, device(edges), 200);
  flatten<<<1, N>>>(parents, roots);
  CHECK(host(roots, N) == wanted);
}

int main() {
  hash_table(), search(), sparse(), cells(), scans(), sorts(), transforms(), sets();
  return verdict();
}
