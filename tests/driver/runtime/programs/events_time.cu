// Events: times, queries, flags, waits, and what is refused.
#include "check.h"

__global__ void spin(int *p, int n) {
  int x = 0;
  for (int i = 0; i < n; i++) x = x * 3 + i;
  *p = x;
}
int main() {
  int *p;
  CUDA(cudaMalloc(&p, 8));
  cudaEvent_t a, b, quiet;
  CUDA(cudaEventCreate(&a));
  CUDA(cudaEventCreateWithFlags(&b, cudaEventBlockingSync));
  CUDA(cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
  cudaStream_t s, t;
  CUDA(cudaStreamCreate(&s));
  CUDA(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  CUDA(cudaEventQuery(a));
  float ms = -1;
  FAILS(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
  CUDA(cudaEventRecord(a, s));
  spin<<<1, 1, 0, s>>>(p, 1000);
  CUDA(cudaEventRecord(b, s));
  CUDA(cudaEventSynchronize(b));
  CUDA(cudaEventQuery(b));
  CUDA(cudaEventElapsedTime(&ms, a, b));
  CHECK(ms > 0);
  float back;
  CUDA(cudaEventElapsedTime(&back, b, a));
  CHECK(back < 0);
  CUDA(cudaEventRecord(quiet, s));
  CUDA(cudaStreamWaitEvent(t, quiet, 0));
  spin<<<1, 1, 0, t>>>(p, 10);
  CUDA(cudaStreamSynchronize(t));
  FAILS(cudaEventElapsedTime(&ms, a, quiet), cudaErrorInvalidResourceHandle);
  CUDA(cudaEventRecordWithFlags(a, t, cudaEventRecordDefault));
  CUDA(cudaEventSynchronize(a));
  cudaGetLastError();
  int low, high, priority;
  CUDA(cudaDeviceGetStreamPriorityRange(&low, &high));
  CHECK(low == 0 && high < 0);
  cudaStream_t fast;
  CUDA(cudaStreamCreateWithPriority(&fast, cudaStreamNonBlocking, high));
  CUDA(cudaStreamGetPriority(fast, &priority));
  unsigned flags;
  CUDA(cudaStreamGetFlags(fast, &flags));
  CHECK(priority == high && flags == cudaStreamNonBlocking);
  unsigned long long id, other;
  CUDA(cudaStreamGetId(s, &id));
  CUDA(cudaStreamGetId(t, &other));
  CHECK(id != other);
  cudaError_t query;
  spin<<<1, 1, 0, s>>>(p, 100);
  while ((query = cudaStreamQuery(s)) == cudaErrorNotReady) {}
  CHECK(query == cudaSuccess);
  FAILS(cudaGetLastError(), cudaSuccess);
  FAILS(cudaEventCreateWithFlags(&a, 0xff00), cudaErrorInvalidValue);
  cudaGetLastError();
  CUDA(cudaEventDestroy(b));
  CUDA(cudaStreamDestroy(s));
  CUDA(cudaStreamDestroy(fast));
  FAILS(cudaEventRecord(nullptr, t), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  return verdict();
}
