// What is missing is refused, and named once when the program ends.
#include "check.h"

int main() {
  cudaIpcMemHandle_t handle;
  void *memory;
  CUDA(cudaMalloc(&memory, 4));
  FAILS(cudaIpcGetMemHandle(&handle, memory), cudaErrorNotSupported);
  FAILS(cudaIpcGetMemHandle(&handle, memory), cudaErrorNotSupported);
  return verdict();
}
