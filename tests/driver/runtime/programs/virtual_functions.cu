// Objects with virtual functions made by `new` on the device, and pointers to functions.
#include "check.h"
struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Sq : Shape {
  float a;
  __device__ Sq(float a) : a(a) {}
  __device__ float area() const override { return a * a; }
};
struct Ci : Shape {
  float r;
  __device__ Ci(float r) : r(r) {}
  __device__ float area() const override { return 3 * r * r; }
};

__global__ void make(Shape **s, int n) {
  int i = threadIdx.x;
  if (i < n) s[i] = i % 2 ? (Shape *)new Sq(i) : new Ci(i);
}

__global__ void use(Shape **s, float *o, int n) {
  int i = threadIdx.x;
  if (i < n) {
    o[i] = s[i]->area();
    delete s[i];
  }
}
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__global__ void rec(int *o) { o[threadIdx.x] = fib(threadIdx.x); }
typedef int (*F)(int);
__device__ int dbl(int x) { return 2 * x; }
__device__ int inc(int x) { return x + 1; }
__device__ F table[2] = {dbl, inc};

__global__ void fp(int *o, F f) {
  int i = threadIdx.x;
  o[i] = table[i % 2](i) + f(i);
}
__device__ F pf = inc;

int main() {
  Shape **s;
  CUDA(cudaMalloc(&s, 8 * 40));
  auto o = managed<float>(40);
  make<<<1, 40>>>(s, 40);
  use<<<1, 40>>>(s, o, 40);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 40; i++) CHECK(o[i] == (i % 2 ? i * i : 3 * i * i));
  auto q = managed<int>(16);
  rec<<<1, 12>>>(q);
  CUDA(cudaDeviceSynchronize());
  int f[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int i = 0; i < 12; i++) CHECK(q[i] == f[i]);
  F h;
  CUDA(cudaMemcpyFromSymbol(&h, pf, sizeof h));
  fp<<<1, 16>>>(q, h);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 16; i++) CHECK(q[i] == (i % 2 ? i + 1 : 2 * i) + i + 1);
  return verdict();
}
