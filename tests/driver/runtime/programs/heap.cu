// new, delete, malloc and free on the device: objects, arrays, lists between kernels, placement, the limit.
#include <new>
#include "check.h"
struct Base {
  int id;
  __device__ Base(int i) : id(i) {}
  __device__ virtual int area() const = 0;
  __device__ virtual ~Base() {}
};
struct Square : Base {
  int side;
  __device__ Square(int i, int s) : Base(i), side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Rect : Base {
  int *sides;
  __device__ Rect(int i, int a, int b) : Base(i), sides(new int[2]{a, b}) {}
  __device__ int area() const override { return sides[0] * sides[1]; }
  __device__ ~Rect() { delete[] sides; }
};
__global__ void make(Base **all) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 2) all[i] = new Square(i, i);
  else all[i] = new Rect(i, i, 3);
}
__global__ void use(Base **all, int *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = all[i]->area() * 2 + (all[i]->id == i);
}
__global__ void drop(Base **all) { delete all[blockIdx.x * blockDim.x + threadIdx.x]; }
struct Node {
  int v;
  Node *next;
};
__device__ Node *head;
__global__ void push() {
  Node *n = (Node *)malloc(sizeof(Node));
  n->v = threadIdx.x;
  Node *old = head;
  do n->next = old;
  while ((old = (Node *)atomicCAS((unsigned long long *)&head, (unsigned long long)n->next, (unsigned long long)n)) !=
         n->next);
}
__global__ void pop_all(int *o) {
  int s = 0;
  for (Node *n = head; n;) {
    Node *next = n->next;
    s += n->v;
    free(n);
    n = next;
  }
  head = nullptr;
  *o = s;
}
__global__ void shared_array(int *o) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = new int[blockDim.x];
  __syncthreads();
  p[threadIdx.x] = threadIdx.x * 2;
  __syncthreads();
  o[threadIdx.x] = p[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) delete[] p;
}
__global__ void too_much(int *o) {
  void *p = malloc(64 << 20);
  *o = p == nullptr;
  free(p);
}
__global__ void placed(int *o) {
  __shared__ alignas(Square) char raw[sizeof(Square)];
  Square *s = new (raw) Square(1, 9);
  Base *b = s;
  *o = b->area();
  s->~Square();
}
int main() {
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  size_t size;
  CUDA(cudaDeviceGetLimit(&size, cudaLimitMallocHeapSize));
  CHECK(size == 16 << 20);
  Base **all;
  CUDA(cudaMalloc(&all, 128 * 8));
  auto o = managed<int>(128);
  make<<<2, 64>>>(all);
  use<<<2, 64>>>(all, o);
  drop<<<2, 64>>>(all);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 128; i++) CHECK(o[i] == (i % 2 ? i * i : i * 3) * 2 + 1);
  push<<<1, 100>>>();
  pop_all<<<1, 1>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 4950);
  shared_array<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) CHECK(o[i] == (63 - i) * 2);
  too_much<<<1, 1>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 1);
  placed<<<1, 1>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 81);
  return verdict();
}
