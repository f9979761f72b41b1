// nvcc --default-stream per-thread: functions whose names end in _ptsz and _ptds, from several threads.
// flags: --default-stream per-thread
#include <thread>
#include <vector>

#include "check.h"

__global__ void fill(int *p, int value, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] += value;
}

int main() {
  const int N = 300, THREADS = 4;
  std::vector<std::thread> threads;
  int *memory[THREADS], bad[THREADS] = {};
  for (int t = 0; t < THREADS; t++)
    threads.emplace_back([&, t] {
      int host[N];
      CUDA(cudaMalloc(&memory[t], N * 4));
      CUDA(cudaMemset(memory[t], 0, N * 4));
      for (int turn = 0; turn < 5; turn++) fill<<<1, 32>>>(memory[t], t + 1, N);
      CUDA(cudaStreamSynchronize(0));
      CUDA(cudaMemcpy(host, memory[t], N * 4, cudaMemcpyDeviceToHost));
      for (int i = 0; i < N; i++) bad[t] += host[i] != 5 * (t + 1);
      fill<<<1, 2000>>>(memory[t], 0, N);
      bad[t] += cudaGetLastError() != cudaErrorInvalidConfiguration;
    });
  for (auto &thread : threads) thread.join();
  for (int t = 0; t < THREADS; t++) CHECK(bad[t] == 0);
  CHECK(cudaGetLastError() == cudaSuccess);  // the errors were those of other threads
  return verdict();
}
