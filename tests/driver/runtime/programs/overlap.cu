// Streams that overlap, ordered by events; with an argument one wait is missing.
// flags: -lineinfo
#include "check.h"

constexpr int N = 256;

__global__ void produce(int *out, int by) { out[threadIdx.x] = threadIdx.x + by; }

__global__ void consume(const int *in, int *out) {
  int value = in[threadIdx.x];
  out[threadIdx.x] = 2 * value;
}

int main(int count, char **) {
  bool is_right = count == 1;
  cudaStream_t first, then;
  cudaEvent_t produced, consumed;
  CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&then, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming));
  int *between, *out, *got;
  CUDA(cudaMalloc(&between, N * sizeof(int)));
  CUDA(cudaMalloc(&out, N * sizeof(int)));
  CUDA(cudaMallocHost(&got, 4 * N * sizeof(int)));
  for (int round = 0; round < 4; round++) {
    if (round && is_right) CUDA(cudaStreamWaitEvent(first, consumed));
    produce<<<1, N, 0, first>>>(between, round);
    CUDA(cudaEventRecord(produced, first));
    CUDA(cudaStreamWaitEvent(then, produced));
    consume<<<1, N, 0, then>>>(between, out);
    CUDA(cudaMemcpyAsync(got + round * N, out, N * sizeof(int), cudaMemcpyDeviceToHost, then));
    CUDA(cudaEventRecord(consumed, then));
  }
  CUDA(cudaStreamSynchronize(then));
  for (int round = 0; round < 4; round++)
    for (int i = 0; i < N; i++) CHECK(got[round * N + i] == 2 * (i + round));
  return verdict();
}
