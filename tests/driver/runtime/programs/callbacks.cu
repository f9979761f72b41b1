// Functions of the host in streams: order, arguments, user objects of graphs, threads of the host.
#include <atomic>
#include <thread>
#include <vector>
#include "check.h"

__global__ void step(int *p) { *p = *p * 2 + 1; }
static std::vector<int> seen;
static int *value;
static void note(void *data) { seen.push_back((int)(size_t)data * 1000 + *value); }
static void CUDART_CB old(cudaStream_t, cudaError_t status, void *data) {
  seen.push_back(status == cudaSuccess ? (int)(size_t)data : -1);
}
static std::atomic<int> destroyed;
static void destroy(void *data) { destroyed += (int)(size_t)data; }

int main() {
  value = managed<int>(1);
  *value = 0;
  cudaStream_t s;
  CUDA(cudaStreamCreate(&s));
  for (int i = 1; i <= 4; i++) {
    step<<<1, 1, 0, s>>>(value);
    CUDA(cudaLaunchHostFunc(s, note, (void *)(size_t)i));
  }
  CUDA(cudaStreamAddCallback(s, old, (void *)77, 0));
  CUDA(cudaStreamSynchronize(s));
  std::vector<int> want = {1001, 2003, 3007, 4015, 77};
  CHECK(seen == want);

  cudaGraph_t graph, clone;
  cudaUserObject_t object;
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaUserObjectCreate(&object, (void *)5, destroy, 1, cudaUserObjectNoDestructorSync));
  CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  CUDA(cudaGraphClone(&clone, graph));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaDeviceSynchronize());
  CHECK(destroyed == 0);
  CUDA(cudaGraphDestroy(clone));
  for (int i = 0; i < 1000 && destroyed == 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(destroyed == 5);

  std::vector<std::thread> threads;
  int *d;
  CUDA(cudaMalloc(&d, 8 * 4));
  CUDA(cudaMemset(d, 0, 8 * 4));
  CUDA(cudaDeviceSynchronize());
  std::atomic<int> failed{0};
  for (int t = 0; t < 8; t++)
    threads.emplace_back([=, &failed] {
      cudaStream_t mine;
      if (cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking)) failed++;
      for (int i = 0; i < 5; i++) step<<<1, 1, 0, mine>>>(d + t);
      if (cudaStreamSynchronize(mine)) failed++;
      step<<<0, 1>>>(d);
      if (cudaGetLastError() != cudaErrorInvalidConfiguration) failed++;
      if (cudaStreamDestroy(mine)) failed++;
    });
  for (auto &t : threads) t.join();
  CHECK(failed == 0 && cudaPeekAtLastError() == cudaSuccess);
  int h[8];
  CUDA(cudaMemcpy(h, d, 32, cudaMemcpyDeviceToHost));
  for (int x : h) CHECK(x == 31);
  return verdict();
}
