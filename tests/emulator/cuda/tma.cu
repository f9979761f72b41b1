// Programs of TMA for test_tma.py, which says what each is to compute.
#include <cstdint>
#include <cuda_fp16.h>

struct alignas(64) Map { char bytes[128]; };

static __device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

static __device__ void init(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ void expect(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}

static __device__ void arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(bar)) : "memory");
}

static __device__ void wait(uint64_t* bar, int parity) {
  asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }" ::"r"(address(bar)),
               "r"(parity)
               : "memory");
}

static __device__ void load(void* to, const Map* map, int x, int y, uint64_t* bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
                   "r"(address(to)), "l"(map), "r"(x), "r"(y), "r"(address(bar))
               : "memory");
}

static __device__ void proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
static __device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
static __device__ void drain() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// A tile of 32 x 32 floats, swizzled by 128 bytes, is read by columns.
extern "C" __global__ void transpose(const __grid_constant__ Map map, float* out) {
  __shared__ alignas(1024) float tile[32 * 32];
  __shared__ uint64_t bar;
  int lane = threadIdx.x, row = threadIdx.y;
  bool first = lane + row == 0;
  if (first) { init(&bar, 1); expect(&bar, sizeof tile); load(tile, &map, blockIdx.x * 32, blockIdx.y * 32, &bar); }
  __syncthreads();
  wait(&bar, 0);
  for (int r = row; r < 32; r += blockDim.y)
    out[(blockIdx.x * 32 + r) * 32 * gridDim.y + blockIdx.y * 32 + lane] =
        tile[lane * 32 + ((r / 4) ^ (lane % 8)) * 4 + r % 4];
}

// Sums of the 3 x 3 neighbours of each pixel, 8 channels of half, by nine columns of im2col.
extern "C" __global__ void neighbours(const __grid_constant__ Map map, float* out, int pixels) {
  extern __shared__ __align__(128) __half column[];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) init(&bar, 1);
  __syncthreads();
  float sum[8] = {};
  for (int tap = 0; tap < 9; tap++) {
    if (threadIdx.x == 0) {
      expect(&bar, pixels * 16);
      unsigned short w = tap % 3, h = tap / 3;
      asm volatile("cp.async.bulk.tensor.4d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                   "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(address(column)),
                   "l"(&map), "r"(0), "r"(-1), "r"(-1), "r"(0), "r"(address(&bar)), "h"(w), "h"(h)
                   : "memory");
    }
    wait(&bar, tap & 1);
    if ((int)threadIdx.x < pixels)
      for (int c = 0; c < 8; c++) sum[c] += __half2float(column[threadIdx.x * 8 + c]);
    __syncthreads();
  }
  if ((int)threadIdx.x < pixels)
    for (int c = 0; c < 8; c++) out[threadIdx.x * 8 + c] = sum[c];
}

// Squares of a tile are stored by a box that is partly outside.
extern "C" __global__ void squares(const __grid_constant__ Map from, const __grid_constant__ Map to, int x, int y) {
  __shared__ alignas(128) float tile[16 * 16];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) { init(&bar, 1); expect(&bar, sizeof tile); load(tile, &from, x, y, &bar); }
  __syncthreads();
  wait(&bar, 0);
  tile[threadIdx.x] *= tile[threadIdx.x];
  proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(x), "r"(y),
                 "r"(address(tile))
                 : "memory");
    commit();
    drain();
  }
}

// Each block adds its partial product, a row of ones times its index, to a box of the result.
extern "C" __global__ void split_k(const __grid_constant__ Map map) {
  __shared__ alignas(128) float tile[4 * 32];
  tile[threadIdx.x] = blockIdx.x + threadIdx.x;
  proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                 "r"(0), "r"(0), "r"(address(tile))
                 : "memory");
    commit();
    drain();
  }
}

// The greatest of each column of words, by blocks of rows: a reduction of bytes.
extern "C" __global__ void greatest(const int* in, int* out, int rows) {
  __shared__ alignas(16) int best[64];
  int most = -(1 << 30);
  for (int r = blockIdx.x; r < rows; r += gridDim.x) most = max(most, in[r * 64 + threadIdx.x]);
  best[threadIdx.x] = most;
  proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 256;" ::"l"(out), "r"(address(best))
                 : "memory");
    commit();
    drain();
  }
}

// Matrices of different heights, one after another: the descriptor is changed in shared memory and copied out.
extern "C" __global__ void groups(Map* map, const __grid_constant__ Map start, float* const* given, const int* heights,
                                  float* out, int count) {
  __shared__ alignas(128) float tile[8 * 32];
  __shared__ alignas(128) Map own;
  __shared__ uint64_t bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 1);
  if (t < 32) ((int*)&own)[t] = ((const int*)&start)[t];
  __syncthreads();
  for (int g = 0; g < count; g++) {
    if (t < 32) {
      if (t == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(address(&own)),
                     "l"(given[g])
                     : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(address(&own)),
                     "r"(heights[g])
                     : "memory");
      }
      __syncwarp();
      asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::
                       "l"(map), "r"(address(&own))
                   : "memory");
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
      if (t == 0) { expect(&bar, sizeof tile); load(tile, map, 0, 0, &bar); }
    }
    wait(&bar, g & 1);
    out[g * 256 + t] = tile[t];
    __syncthreads();
  }
}

// A producer's warp and two consumers' warps with a ring of three stages.
extern "C" __global__ void ring(const __grid_constant__ Map map, float* out, int tiles) {
  __shared__ alignas(128) float stage[3][8 * 32];
  __shared__ uint64_t full[3], empty[3];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    for (int s = 0; s < 3; s++) { init(&full[s], 1); init(&empty[s], 64); }
  __syncthreads();
  if (warp == 2) {
    if (lane == 0)
      for (int i = 0; i < tiles; i++) {
        int s = i % 3;
        wait(&empty[s], i / 3 % 2 ^ 1);
        expect(&full[s], sizeof stage[s]);
        load(stage[s], &map, 0, 8 * i, &full[s]);
      }
    return;
  }
  float sum = 0;
  for (int i = 0; i < tiles; i++) {
    int s = i % 3;
    wait(&full[s], i / 3 % 2);
    for (int r = warp * 4; r < warp * 4 + 4; r++) sum += stage[s][r * 32 + lane];
    arrive(&empty[s]);
  }
  out[threadIdx.x] = sum;
}
