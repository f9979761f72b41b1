// A cooperative grid that meets in the middle; a cluster; a launch with attributes.
#include <cooperative_groups.h>

#include "check.h"
namespace groups = cooperative_groups;

// The sum of `values` in one launch: each block its part, then block 0 the parts.
__global__ void sum(const int *values, int n, int *parts, int *total) {
  auto grid = groups::this_grid();
  auto block = groups::this_thread_block();
  int mine = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += values[i];
  atomicAdd(&parts[blockIdx.x], mine);
  grid.sync();
  if (grid.thread_rank() == 0)
    for (int i = 0; i < gridDim.x; i++) *total += parts[i];
}

__global__ void ranks(int *out) {
  auto cluster = groups::this_cluster();
  cluster.sync();
  if (!threadIdx.x) out[blockIdx.x] = cluster.block_rank() + 10 * cluster.num_blocks();
}

int main() {
  const int N = 1000, BLOCKS = 4;
  int values[N], expected = 0, *device, *parts, *total, result, supported;
  CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  CHECK(supported == 1);
  for (int i = 0; i < N; i++) expected += values[i] = i * 7 % 13;
  CUDA(cudaMalloc(&device, sizeof values));
  CUDA(cudaMalloc(&parts, BLOCKS * 4));
  CUDA(cudaMalloc(&total, 4));
  CUDA(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
  CUDA(cudaMemset(parts, 0, BLOCKS * 4));
  CUDA(cudaMemset(total, 0, 4));
  int n = N;
  void *arguments[] = {&device, &n, &parts, &total};
  CUDA(cudaLaunchCooperativeKernel(sum, dim3(BLOCKS), dim3(64), arguments, 0, 0));
  CUDA(cudaMemcpy(&result, total, 4, cudaMemcpyDeviceToHost));
  CHECK(result == expected);

  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[1];
  config.gridDim = 8;
  config.blockDim = 32;
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = 4;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, ranks, device));
  CUDA(cudaMemcpy(values, device, 32, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++) CHECK(values[i] == i % 4 + 40);
  int clusters = 0;
  CUDA(cudaOccupancyMaxActiveClusters(&clusters, ranks, &config));
  CHECK(clusters > 0);
  return verdict();
}
