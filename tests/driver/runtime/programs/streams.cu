// Streams and events: order, waits, priorities, functions on the host, pinned memory, allocation in a stream.
#include "check.h"

__global__ void scale(float *p, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= a;
}

struct Called {
  int times;
  float *host, seen;
};
static void on_host(void *data) {
  auto called = (Called *)data;
  called->times++;
  called->seen = called->host[5];
}
static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *data) {
  if (status == cudaSuccess) ((Called *)data)->times += 10;
}

int main() {
  const int N = 1 << 12;
  float *host, *device;
  cudaStream_t first, second, urgent;
  cudaEvent_t start, done, end;
  CUDA(cudaHostAlloc(&host, N * 4, cudaHostAllocDefault));
  CUDA(cudaMalloc(&device, N * 4));
  CUDA(cudaStreamCreate(&first));
  CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  int least, greatest, priority;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);
  CUDA(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  CUDA(cudaStreamGetPriority(urgent, &priority));
  CHECK(priority == greatest);
  unsigned flags;
  CUDA(cudaStreamGetFlags(second, &flags));
  CHECK(flags == cudaStreamNonBlocking);
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

  for (int i = 0; i < N; i++) host[i] = i;
  Called called = {0, host, 0};
  CUDA(cudaEventRecord(start, first));
  CUDA(cudaMemcpyAsync(device, host, N * 4, cudaMemcpyHostToDevice, first));
  scale<<<N / 128, 128, 0, first>>>(device, 2, N);
  CUDA(cudaEventRecord(done, first));
  CUDA(cudaStreamWaitEvent(second, done, 0));
  scale<<<N / 128, 128, 0, second>>>(device, 3, N);
  CUDA(cudaMemcpyAsync(host, device, N * 4, cudaMemcpyDeviceToHost, second));
  CUDA(cudaLaunchHostFunc(second, on_host, &called));
  CUDA(cudaStreamAddCallback(second, callback, &called, 0));
  CUDA(cudaStreamSynchronize(second));
  CUDA(cudaEventRecord(end, first));
  CUDA(cudaEventSynchronize(end));
  CHECK(called.times == 11 && called.seen == 30);
  for (int i = 0; i < N; i++) CHECK(host[i] == 6.f * i);
  float milliseconds = -1;
  CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  CUDA(cudaStreamQuery(first));
  CUDA(cudaEventQuery(done));
  FAILS(cudaEventElapsedTime(&milliseconds, start, done), cudaErrorInvalidResourceHandle);

  float *pooled;
  CUDA(cudaMallocAsync(&pooled, N * 4, first));
  CUDA(cudaMemsetAsync(pooled, 0, N * 4, first));
  CUDA(cudaMemcpyAsync(host, pooled, N * 4, cudaMemcpyDeviceToHost, first));
  CUDA(cudaFreeAsync(pooled, first));
  CUDA(cudaStreamSynchronize(first));
  for (int i = 0; i < N; i++) CHECK(host[i] == 0);
  for (cudaEvent_t each : {start, done, end}) CUDA(cudaEventDestroy(each));
  for (cudaStream_t each : {first, second, urgent}) CUDA(cudaStreamDestroy(each));
  CUDA(cudaFree(device));
  CUDA(cudaFreeHost(host));
  return verdict();
}
