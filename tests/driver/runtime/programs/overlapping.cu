// Four streams with copies, kernels and memory of their own; a captured graph with two branches.
#include <vector>

#include "check.h"

__global__ void add(int *a, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += v;
}

int main() {
  const int n = 1 << 16;
  int *h;
  CUDA(cudaMallocHost(&h, n * 4));
  cudaStream_t s[4];
  cudaEvent_t e[4];
  std::vector<int *> d(4);
  for (int i = 0; i < n; i++) h[i] = i;
  for (int j = 0; j < 4; j++) {
    CUDA(cudaStreamCreateWithFlags(&s[j], cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&e[j]));
    CUDA(cudaMallocAsync(&d[j], n, s[j]));
    int q = n / 4;
    CUDA(cudaMemcpyAsync(d[j], h + j * q, q * 4, cudaMemcpyHostToDevice, s[j]));
    add<<<q / 256, 256, 0, s[j]>>>(d[j], j + 1, q);
    CUDA(cudaMemcpyAsync(h + j * q, d[j], q * 4, cudaMemcpyDeviceToHost, s[j]));
    CUDA(cudaFreeAsync(d[j], s[j]));
    CUDA(cudaEventRecord(e[j], s[j]));
  }
  for (int j = 0; j < 4; j++) CUDA(cudaEventSynchronize(e[j]));
  float ms;
  CUDA(cudaEventElapsedTime(&ms, e[0], e[3]));
  for (int i = 0; i < n; i++) CHECK(h[i] == i + i / (n / 4) + 1);
  cudaGraph_t g;
  cudaGraphExec_t x;
  int *p = managed<int>(256);
  CUDA(cudaMemset(p, 0, 1024));
  CUDA(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
  add<<<1, 256, 0, s[0]>>>(p, 1, 256);
  CUDA(cudaEventRecord(e[0], s[0]));
  CUDA(cudaStreamWaitEvent(s[1], e[0], 0));
  add<<<1, 128, 0, s[1]>>>(p, 10, 128);
  add<<<1, 128, 0, s[0]>>>(p + 128, 100, 128);
  CUDA(cudaEventRecord(e[1], s[1]));
  CUDA(cudaStreamWaitEvent(s[0], e[1], 0));
  CUDA(cudaStreamEndCapture(s[0], &g));
  CUDA(cudaGraphInstantiate(&x, g, 0));
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(x, s[2]));
  CUDA(cudaStreamSynchronize(s[2]));
  int r[256];
  CUDA(cudaMemcpy(r, p, 1024, cudaMemcpyDefault));
  for (int i = 0; i < 256; i++) CHECK(r[i] == 3 * (1 + (i < 128 ? 10 : 100)));
  return verdict();
}
