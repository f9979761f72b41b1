// Clusters: distributed shared memory, ranks, barriers, histograms, by attribute and by launch; large dynamic shared memory.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) neighbours(int *o) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  int r = cluster.block_rank();
  s[threadIdx.x] = r * 100 + threadIdx.x;
  cluster.sync();
  int *other = cluster.map_shared_rank(s, (r + 1) % cluster.num_blocks());
  o[blockIdx.x * 32 + threadIdx.x] = other[31 - threadIdx.x] + cluster.query_shared_rank(other) * 10000;
  cluster.sync();
}
__global__ void histogram(const int *in, int n, int *bins, int per) {
  extern __shared__ int s[];
  auto cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < per; i += blockDim.x) s[i] = 0;
  cluster.sync();
  int all = cluster.num_threads();
  int id = cluster.thread_rank() + (blockIdx.x / cluster.num_blocks()) * all;
  for (int i = id; i < n; i += gridDim.x * blockDim.x) {
    int b = in[i];
    atomicAdd(cluster.map_shared_rank(s, b / per) + b % per, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < per; i += blockDim.x) atomicAdd(bins + cluster.block_rank() * per + i, s[i]);
}
__global__ void arrive_wait(int *o) {
  __shared__ int s;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) s = cluster.block_index().y * 10 + cluster.block_index().x;
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(std::move(token));
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < cluster.num_blocks(); i++) sum = sum * 100 + *cluster.map_shared_rank(&s, i);
    o[blockIdx.y * gridDim.x + blockIdx.x] = sum;
  }
  cluster.sync();
}
__global__ void large(double *o) {
  extern __shared__ double d[];
  for (int i = threadIdx.x; i < 25000; i += blockDim.x) d[i] = i * 0.5;
  __syncthreads();
  o[threadIdx.x] = d[24999 - threadIdx.x * 100];
}

int main() {
  auto o = managed<int>(1024);
  neighbours<<<8, 32>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int b = 0; b < 8; b++)
    for (int t = 0; t < 32; t++) CHECK(o[b * 32 + t] == (b % 4 + 1) % 4 * 10100 + 31 - t);
  auto in = managed<int>(5000), bins = managed<int>(256);
  memset(bins, 0, 1024);
  int want[256] = {};
  for (int i = 0; i < 5000; i++) want[in[i] = i * i % 251]++;
  cudaLaunchConfig_t config = {};
  config.gridDim = 4, config.blockDim = 64, config.dynamicSmemBytes = 128 * 4;
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = 2, attribute[0].val.clusterDim.y = 1, attribute[0].val.clusterDim.z = 1;
  config.attrs = attribute, config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, histogram, (const int *)in, 5000, bins, 128));
  CUDA(cudaDeviceSynchronize());
  CHECK(!memcmp(bins, want, 1024));
  int blocks = 0;
  CUDA(cudaOccupancyMaxActiveClusters(&blocks, histogram, &config));
  CHECK(blocks > 0);
  int size = 0;
  CUDA(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config));
  CHECK(size == 8);
  config.gridDim = dim3(2, 4), config.dynamicSmemBytes = 0;
  attribute[0].val.clusterDim.x = 2, attribute[0].val.clusterDim.y = 2;
  CUDA(cudaLaunchKernelEx(&config, arrive_wait, o));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 8; i++) CHECK(o[i] == 11011);
  auto d = managed<double>(128);
  CUDA(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));
  large<<<1, 128, 200000>>>(d);
  CUDA(cudaGetLastError());
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 128; t++) CHECK(d[t] == (24999 - t * 100) * 0.5);
  FAILS(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 240000), cudaErrorInvalidValue);
  return verdict();
}
