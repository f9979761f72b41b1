// Managed, pinned, mapped and registered memory: attributes, advice, prefetches, lists and classes that both sides use.
#include "check.h"

struct Managed {
  void *operator new(size_t n) {
    void *p;
    cudaMallocManaged(&p, n);
    cudaDeviceSynchronize();
    return p;
  }
  void operator delete(void *p) {
    cudaDeviceSynchronize();
    cudaFree(p);
  }
};
struct List : Managed {
  int value;
  List *next;
};
__global__ void total(List *l, int *o) {
  int s = 0;
  for (; l; l = l->next) s += l->value, l->value *= 2;
  *o = s;
}
__global__ void fill(int *p, int n, int x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = x + i;
}

int main() {
  List *head = nullptr;
  for (int i = 1; i <= 20; i++) {
    auto l = new List;
    l->value = i, l->next = head, head = l;
  }
  auto o = managed<int>(1);
  total<<<1, 1>>>(head, o);
  CUDA(cudaDeviceSynchronize());
  CHECK(*o == 210 && head->value == 40);
  while (head) {
    auto n = head->next;
    delete head;
    head = n;
  }
  const int N = 1 << 14;
  auto m = managed<int>(N);
  cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
  CUDA(cudaMemAdvise(m, N * 4, cudaMemAdviseSetReadMostly, device));
  CUDA(cudaMemAdvise(m, N * 4, cudaMemAdviseSetPreferredLocation, device));
  CUDA(cudaMemPrefetchAsync(m, N * 4, device, 0, 0));
  fill<<<N / 256, 256>>>(m, N, 5);
  CUDA(cudaMemPrefetchAsync(m, N * 4, host, 0, 0));
  CUDA(cudaDeviceSynchronize());
  CHECK(m[0] == 5 && m[N - 1] == N + 4);
  int read_mostly = -1;
  CUDA(cudaMemRangeGetAttribute(&read_mostly, 4, cudaMemRangeAttributeReadMostly, m, N * 4));
  CHECK(read_mostly == 1);
  cudaPointerAttributes a;
  CUDA(cudaPointerGetAttributes(&a, m + 3));
  CHECK(a.type == cudaMemoryTypeManaged && a.devicePointer == m + 3 && a.hostPointer == m + 3);
  int *d, *h, *mapped, *view;
  CUDA(cudaMalloc(&d, N * 4));
  CUDA(cudaPointerGetAttributes(&a, d));
  CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 && a.hostPointer == nullptr);
  CUDA(cudaMallocHost(&h, N * 4));
  CUDA(cudaPointerGetAttributes(&a, h));
  CHECK(a.type == cudaMemoryTypeHost && a.hostPointer == h && a.devicePointer == h);
  CUDA(cudaHostAlloc(&mapped, N * 4, cudaHostAllocMapped | cudaHostAllocWriteCombined));
  CUDA(cudaHostGetDevicePointer(&view, mapped, 0));
  fill<<<N / 256, 256>>>(view, N, 9);
  CUDA(cudaDeviceSynchronize());
  CHECK(mapped[100] == 109);
  unsigned flags;
  CUDA(cudaHostGetFlags(&flags, mapped));
  CHECK(flags & cudaHostAllocMapped);
  int *own = (int *)aligned_alloc(4096, N * 4);
  CUDA(cudaPointerGetAttributes(&a, own));
  CHECK(a.type == cudaMemoryTypeUnregistered);
  CUDA(cudaHostRegister(own, N * 4, cudaHostRegisterMapped));
  CUDA(cudaHostGetDevicePointer(&view, own, 0));
  fill<<<N / 256, 256>>>(view, N, 1);
  CUDA(cudaDeviceSynchronize());
  CHECK(own[N - 1] == N);
  FAILS(cudaHostRegister(own, N * 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  CUDA(cudaHostUnregister(own));
  FAILS(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
  cudaGetLastError();
  CUDA(cudaMemcpy(d, h, 64, cudaMemcpyDefault));
  CUDA(cudaMemset(m, 0xff, 64));
  CUDA(cudaDeviceSynchronize());
  CHECK(m[15] == -1 && m[16] == 21);
  size_t free_, total_;
  CUDA(cudaMemGetInfo(&free_, &total_));
  CHECK(free_ < total_);
  int concurrent;
  CUDA(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  CHECK(concurrent == 1);
  FAILS(cudaFree(d + 1), cudaErrorInvalidValue);
  CUDA(cudaFree(d));
  FAILS(cudaFree(d), cudaErrorInvalidValue);
  CUDA(cudaFree(nullptr));
  cudaGetLastError();
  CUDA(cudaFreeHost(h));
  CUDA(cudaFreeHost(mapped));
  return verdict();
}
