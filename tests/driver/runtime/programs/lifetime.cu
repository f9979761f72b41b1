// Threads, children of fork, and calls after main(): atexit handlers and static destructors.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void increment(int *p) { atomicAdd(p, 1); }

static int *counter;
static int value() {
  int value = -1;
  return cudaMemcpy(&value, counter, 4, cudaMemcpyDeviceToHost) == cudaSuccess ? value : -2;
}

struct Last {
  ~Last() {
    if (value() == 2561) verdict();
  }
} last;

static void at_exit() {
  if (value() != 2561) _exit(3);
}

static void *launches(void *) {
  for (int i = 0; i < 20; i++) increment<<<1, 32>>>(counter);
  return (void *)(long)cudaStreamSynchronize(0);
}

// What a child of fork is answered.
template <typename Call>
static cudaError_t in_child(Call call) {
  int status = 0;
  pid_t child = fork();
  if (!child) _exit(call());
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? (cudaError_t)WEXITSTATUS(status) : cudaErrorUnknown;
}

int main() {
  int count;
  CUDA(cudaGetDeviceCount(&count));
  void *memory;
  CHECK(in_child([&] { return cudaMalloc(&memory, 4); }) == cudaErrorInitializationError);
  CUDA(cudaMalloc(&counter, 4));
  CUDA(cudaMemset(counter, 0, 4));
  increment<<<1, 1>>>(counter);
  CUDA(cudaDeviceSynchronize());
  CHECK(in_child([] { return cudaDeviceSynchronize(); }) == cudaErrorInitializationError);
  pthread_t threads[4];
  void *error;
  for (pthread_t &each : threads) pthread_create(&each, nullptr, launches, nullptr);
  for (pthread_t &each : threads) {
    pthread_join(each, &error);
    CHECK(!error);
  }
  CHECK(value() == 2561);
  atexit(at_exit);
  return wrong != 0;
}
