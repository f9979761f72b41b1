// Managed memory: variables and allocations that host and device share; what kind of memory a pointer is.
#include "check.h"

__managed__ int word = 3;
__managed__ float row[16];

struct Node {
  int value;
  Node *next;
};

__global__ void add(int *p, Node *list) {
  if (!threadIdx.x) word += 4;
  row[threadIdx.x] = threadIdx.x * 2.f;
  if (!threadIdx.x)
    for (Node *node = list; node; node = node->next) *p += node->value;
}

int main() {
  CHECK(word == 3);
  word = 10;
  int *sum;
  Node *list = nullptr;
  CUDA(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  for (int i = 1; i <= 5; i++) {
    Node *node;
    CUDA(cudaMallocManaged(&node, sizeof *node));
    *node = {i, list};
    list = node;
  }
  add<<<1, 16>>>(sum, list);
  CUDA(cudaDeviceSynchronize());
  CHECK(*sum == 15);
  CHECK(word == 14);
  for (int i = 0; i < 16; i++) CHECK(row[i] == 2.f * i);
  int copy;
  CUDA(cudaMemcpyFromSymbol(&copy, word, 4));
  CHECK(copy == 14);
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, sum));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == sum);
  void *device, *pinned;
  CUDA(cudaMalloc(&device, 256));
  CUDA(cudaMallocHost(&pinned, 256));
  CUDA(cudaPointerGetAttributes(&attributes, device));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device && attributes.device == 0);
  CHECK(attributes.hostPointer == nullptr);
  CUDA(cudaPointerGetAttributes(&attributes, pinned));
  CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
  CUDA(cudaPointerGetAttributes(&attributes, &copy));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(device));
  while (list) {
    Node *next = list->next;
    CUDA(cudaFree(list));
    list = next;
  }
  CUDA(cudaFree(sum));
  return verdict();
}
