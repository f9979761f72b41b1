// Forces between bodies, tile by tile through shared memory.
#include "check.h"

__global__ void k(const float4 *p, float3 *a, int n) {
  extern __shared__ float4 s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 m = p[i];
  float3 acc = {0, 0, 0};
  for (int t = 0; t < n / blockDim.x; t++) {
    s[threadIdx.x] = p[t * blockDim.x + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < blockDim.x; j++) {
      float dx = s[j].x - m.x, dy = s[j].y - m.y, dz = s[j].z - m.z;
      float d = dx * dx + dy * dy + dz * dz + 0.01f;
      float r = rsqrtf(d);
      r = r * r * r * s[j].w;
      acc.x += dx * r;
      acc.y += dy * r;
      acc.z += dz * r;
    }
    __syncthreads();
  }
  a[i] = acc;
}

int main() {
  int n = 512;
  auto p = managed<float4>(n);
  auto a = managed<float3>(n);
  for (int i = 0; i < n; i++) p[i] = make_float4(i % 8, i / 8 % 8, i / 64, 1 + i % 3);
  k<<<n / 128, 128, 128 * 16>>>(p, a, n);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i += 17) {
    double x = 0;
    for (int j = 0; j < n; j++) {
      double dx = p[j].x - p[i].x, dy = p[j].y - p[i].y, dz = p[j].z - p[i].z, d = dx * dx + dy * dy + dz * dz + .01;
      x += dx * p[j].w / (d * sqrt(d));
    }
    CHECK(fabs(a[i].x - x) < 1e-3 * (1 + fabs(x)));
  }
  return verdict();
}
