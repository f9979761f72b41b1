// Mistakes of clusters and grids, each a kernel that is right with RIGHT defined. `found:` marks the line of each finding.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// A histogram over two blocks: bins of the other block are counted in before it has cleared them.
extern "C" __global__ void __cluster_dims__(2, 1, 1) histogram(const int* x, int* out, int n) {
  __shared__ int bins[64];
  cg::cluster_group c = cg::this_cluster();
  bins[threadIdx.x] = 0;  // found: histogram
#ifdef RIGHT
  c.sync();
#else
  __syncthreads();
#endif
  for (int i = c.thread_rank(); i < n; i += c.num_threads())
    atomicAdd(c.map_shared_rank(bins, x[i] / 64 % 2) + x[i] % 64, 1);
  c.sync();
  out[64 * c.block_rank() + threadIdx.x] = bins[threadIdx.x];
}

// A sum over a cluster: the last reads of another block are not waited for.
extern "C" __global__ void __cluster_dims__(4, 1, 1) exit_early(const float* x, float* out) {
  __shared__ float part;
  cg::cluster_group c = cg::this_cluster();
  if (threadIdx.x == 0) part = x[blockIdx.x];
  c.sync();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int rank = 0; rank < 4; rank++) sum += *c.map_shared_rank(&part, rank);  // found: exit_early
    out[blockIdx.x] = sum;
  }
#ifdef RIGHT
  c.sync();
#endif
}

// Each step of a solver reads its neighbours' cells: a barrier of the block in the place of the grid's.
extern "C" __global__ void steps(float* a, float* b, int n, int count) {
  cg::grid_group grid = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int step = 0; step < count; step++) {
    float left = i ? a[i - 1] : 0.0f, right = i + 1 < n ? a[i + 1] : 0.0f;  // found: steps
    b[i] = left + right;
#ifdef RIGHT
    grid.sync();
#else
    __syncthreads();
#endif
    float* swap = a;
    a = b;
    b = swap;
  }
}

// The second of two kernels that overlap (programmatic dependent launch): it reads what the first one wrote.
extern "C" __global__ void first_kernel(float* x) {
  cudaTriggerProgrammaticLaunchCompletion();
  x[threadIdx.x] = 3.0f * threadIdx.x;
}

extern "C" __global__ void second_kernel(const float* x, float* out) {
#ifdef RIGHT
  cudaGridDependencySynchronize();
#endif
  out[threadIdx.x] = x[threadIdx.x] + 1.0f;  // found: second_kernel
}
