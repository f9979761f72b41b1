// Variables of a device: structures, tables, pointers between them, constants, templates, static ones of a kernel.
#include "check.h"

struct Node {
  int value;
  const Node *next;
};
__device__ Node last = {3, nullptr};
__device__ Node middle = {2, &last};
__constant__ Node first = {1, &middle};
__constant__ double table[4] = {0.5, 1.5, 2.5, 3.5};
__device__ const char *const words[] = {"zero", "one", "two"};
__device__ int matrix[3][4] = {{1, 2, 3, 4}, {5, 6}, {7}};
struct Big {
  char c;
  double d;
  short s[3];
  long long l;
};
__constant__ Big big = {'x', 2.25, {1, 2, 3}, 1ll << 40};
template <typename T>
__device__ T cell = T(7);
static inline __device__ int counter = 10;
using Op = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ Op ops[] = {add, mul};
__device__ constexpr float pi = 3.14159274f;
__managed__ struct {
  int hits;
  float *where;
} shared_with_host;
__device__ __align__(16) char raw[64];

__global__ void k(int *o, const __grid_constant__ Big param, Op op) {
  static int calls;
  int *p = o;
  for (const Node *n = &first; n; n = n->next) *p++ = n->value;
  *p++ = (int)(table[blockDim.x] * 10);
  int length = 0;
  while (words[2][length]) length++;
  *p++ = length + words[0][0];
  *p++ = matrix[1][1] * 100 + matrix[1][2] * 10 + matrix[2][0];
  *p++ = big.c + big.s[2] + (int)(big.d * 4) + (int)(big.l >> 36);
  *p++ = param.c + param.s[1] + (int)param.l;
  *p++ = cell<int> + (int)(cell<float> * 2);
  cell<int> += 5;
  *p++ = ops[0](3, 4) * 100 + ops[1](3, 4) + (op ? op(10, 20) : 0);
  *p++ = ++calls;
  *p++ = counter++;
  *p++ = (int)(pi * 1e6f);
  shared_with_host.hits++;
  *shared_with_host.where = 2.5f;
  *p++ = (int)((size_t)raw % 16);
}
__global__ void get(Op *op) { *op = mul; }

int main() {
  auto o = managed<int>(32);
  auto op = managed<Op>(1);
  shared_with_host.hits = 4, shared_with_host.where = managed<float>(1);
  Big param = {'a', 0, {1, 9, 1}, 1000};
  get<<<1, 1>>>(op);
  CUDA(cudaDeviceSynchronize());
  k<<<1, 1>>>(o, param, *op);
  CUDA(cudaDeviceSynchronize());
  int want[] = {1, 2, 3, 15, 3 + 'z', 600 + 7, 'x' + 3 + 9 + 16, 'a' + 9 + 1000, 21, 700 + 12 + 200, 1, 10, 3141592, 0};
  for (int i = 0; i < 14; i++)
    if (o[i] != want[i]) printf("%d: %d, want %d\n", i, o[i], want[i]), wrong++;
  CHECK(shared_with_host.hits == 5 && *shared_with_host.where == 2.5f);
  k<<<1, 1>>>(o, param, nullptr);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[8] == 26 && o[9] == 712 && o[10] == 2 && o[11] == 11);
  double values[2] = {9, 8}, read = 0;
  CUDA(cudaMemcpyToSymbol(table, values, 16, 8));
  CUDA(cudaMemcpyFromSymbol(&read, table, 8, 16));
  CHECK(read == 8);
  k<<<1, 1>>>(o, param, nullptr);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[3] == 90);
  size_t size;
  void *address;
  CUDA(cudaGetSymbolSize(&size, matrix));
  CHECK(size == 48);
  CUDA(cudaGetSymbolAddress(&address, matrix));
  int row[4];
  CUDA(cudaMemcpy(row, (int *)address + 4, 16, cudaMemcpyDeviceToHost));
  CHECK(row[0] == 5 && row[1] == 6 && row[2] == 0);
  int one = 99;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMemcpyToSymbolAsync(counter, &one, 4, 0, cudaMemcpyHostToDevice, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemcpyFromSymbol(&one, counter, 4));
  CHECK(one == 99);
  FAILS(cudaMemcpyToSymbol(table, values, 16, 24), cudaErrorInvalidValue);
  FAILS(cudaMemcpyFromSymbol(values, values, 16), cudaErrorInvalidSymbol);
  cudaGetLastError();
  return verdict();
}
