// Pitched memory in two and three dimensions.
#include <vector>

#include "check.h"

__global__ void k(float *p, size_t pitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    float *r = (float *)((char *)p + y * pitch);
    r[x] = r[x] * 2 + y;
  }
}

__global__ void k3(cudaPitchedPtr p, cudaExtent e) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  if (x * 4 < e.width && y < e.height) {
    char *s = (char *)p.ptr + z * p.pitch * e.height;
    ((int *)(s + y * p.pitch))[x] = x + 100 * y + 10000 * z;
  }
}

int main() {
  int w = 37, h = 21;
  float *p;
  size_t pitch;
  CUDA(cudaMallocPitch(&p, &pitch, w * 4, h));
  std::vector<float> a(w * h), b(w * h);
  for (int i = 0; i < w * h; i++) a[i] = i;
  CUDA(cudaMemcpy2D(p, pitch, a.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  k<<<dim3(3, 3), dim3(16, 8)>>>(p, pitch, w, h);
  CUDA(cudaMemcpy2D(b.data(), w * 4, p, pitch, w * 4, h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; i++) CHECK(b[i] == a[i] * 2 + i / w);
  cudaExtent e = make_cudaExtent(40, 5, 3);
  cudaPitchedPtr q;
  CUDA(cudaMalloc3D(&q, e));
  k3<<<3, dim3(10, 5)>>>(q, e);
  int c[150];
  cudaMemcpy3DParms m = {};
  m.srcPtr = q;
  m.dstPtr = make_cudaPitchedPtr(c, 40, 10, 5);
  m.extent = e;
  m.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&m));
  for (int i = 0; i < 150; i++) CHECK(c[i] == i % 10 + 100 * (i / 10 % 5) + 10000 * (i / 50));
  return verdict();
}
