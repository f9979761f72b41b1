// Recursion: structures by value, arrays on the stack, functions that call each other, virtual functions.
#include <vector>

#include "check.h"
struct Pair {
  int a;
  double b;
  char c[5];
};
__device__ __noinline__ Pair chain(Pair p, int n) {
  if (n == 0) return p;
  p.a += n;
  p.b *= 1.5;
  p.c[n % 5] += n;
  Pair q = chain(p, n - 1);
  q.a ^= p.a;
  return q;
}
Pair hchain(Pair p, int n) {
  if (n == 0) return p;
  p.a += n;
  p.b *= 1.5;
  p.c[n % 5] += n;
  Pair q = hchain(p, n - 1);
  q.a ^= p.a;
  return q;
}
__device__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n == 0 ? false : even(n - 1); }
__host__ __device__ __noinline__ int ack(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}
__host__ __device__ __noinline__ void qs(int *a, int l, int r) {
  if (l >= r) return;
  int p = a[(l + r) / 2], i = l, j = r;
  while (i <= j) {
    while (a[i] < p) i++;
    while (a[j] > p) j--;
    if (i <= j) {
      int t = a[i];
      a[i] = a[j];
      a[j] = t;
      i++;
      j--;
    }
  }
  qs(a, l, j);
  qs(a, i, r);
}
__host__ __device__ __noinline__ int queens(int n, int row, const int *up) {
  int cols[8];
  for (int i = 0; i < row; i++) cols[i] = up[i];
  if (row == n) return 1;
  int c = 0;
  for (int q = 0; q < n; q++) {
    bool ok = true;
    for (int i = 0; i < row; i++)
      if (cols[i] == q || abs(cols[i] - q) == row - i) ok = false;
    if (ok) {
      cols[row] = q;
      c += queens(n, row + 1, cols);
    }
  }
  return c;
}
__host__ __device__ __noinline__ void msort(int *a, int n) {
  if (n < 2) return;
  int b[16];
  msort(a, n / 2);
  msort(a + n / 2, n - n / 2);
  int i = 0, j = n / 2, k = 0;
  while (i < n / 2 || j < n) b[k++] = j >= n || (i < n / 2 && a[i] <= a[j]) ? a[i++] : a[j++];
  for (i = 0; i < n; i++) a[i] = b[i];
}
struct Node { __device__ virtual double eval(double x) const = 0; };
struct Num : Node {
  double v;
  __device__ Num(double v) : v(v) {}
  __device__ double eval(double) const override { return v; }
};
struct Var : Node {
  __device__ double eval(double x) const override { return x; }
};
struct Add : Node {
  Node *l, *r;
  __device__ Add(Node *l, Node *r) : l(l), r(r) {}
  __device__ double eval(double x) const override { return l->eval(x) + r->eval(x); }
};
struct Mul : Node {
  Node *l, *r;
  __device__ Mul(Node *l, Node *r) : l(l), r(r) {}
  __device__ double eval(double x) const override { return l->eval(x) * r->eval(x); }
};

__global__ void tree(double *o) {
  Node *e = new Add(new Mul(new Var, new Add(new Var, new Num(2))), new Num(threadIdx.x));
  o[threadIdx.x] = e->eval(threadIdx.x * .5);
}
__device__ __noinline__ int red(int v, int d) {
  if (d == 0) return v;
  v += __shfl_xor_sync(~0u, v, d);
  __syncthreads();
  return red(v, d / 2);
}

__global__ void k(int *o, double *d, int *a) {
  int t = threadIdx.x;
  Pair p = {t, 1.0, {1, 2, 3, 4, 5}};
  Pair q = chain(p, t % 7);
  o[t * 8] = q.a;
  d[t] = q.b;
  o[t * 8 + 1] = q.c[t % 5];
  o[t * 8 + 2] = even(t) * 2 + odd(t);
  o[t * 8 + 3] = ack(t % 3, t % 4);
  qs(a + t * 16, 0, 15);
  o[t * 8 + 4] = queens(4 + t % 3, 0, nullptr);
  int b[16];
  for (int i = 0; i < 16; i++) b[i] = (i * 7 + t) % 16 - (i == t);
  msort(b, 16);
  int s = 0;
  for (int i = 0; i < 16; i++) s = s * 3 + b[i];
  o[t * 8 + 5] = s;
  o[t * 8 + 6] = red(t, 16);
}

int main() {
  int n = 64;
  auto o = managed<int>(n * 8);
  auto d = managed<double>(n);
  auto a = managed<int>(n * 16);
  std::vector<int> w(n * 16);
  for (int i = 0; i < n * 16; i++) w[i] = a[i] = (i * 7919) % 503;
  k<<<1, n>>>(o, d, a);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < n; t++) {
    Pair p = {t, 1.0, {1, 2, 3, 4, 5}};
    Pair q = hchain(p, t % 7);
    CHECK(o[t * 8] == q.a);
    CHECK(d[t] == q.b);
    CHECK(o[t * 8 + 1] == q.c[t % 5]);
    CHECK(o[t * 8 + 2] == (t % 2 ? 1 : 2));
    CHECK(o[t * 8 + 3] == ack(t % 3, t % 4));
    qs(&w[t * 16], 0, 15);
    for (int i = 0; i < 16; i++) CHECK(w[t * 16 + i] == a[t * 16 + i]);
    CHECK(o[t * 8 + 4] == queens(4 + t % 3, 0, nullptr));
    int b[16];
    for (int i = 0; i < 16; i++) b[i] = (i * 7 + t) % 16 - (i == t);
    msort(b, 16);
    int s = 0;
    for (int i = 0; i < 16; i++) s = s * 3 + b[i];
    CHECK(o[t * 8 + 5] == s);
    int r = 0;
    for (int i = t / 32 * 32; i < t / 32 * 32 + 32; i++) r += i;
    int g = 0;
    {
      int v[32];
      for (int i = 0; i < 32; i++) v[i] = t / 32 * 32 + i;
      for (int m = 16; m; m /= 2) {
        int x[32];
        for (int i = 0; i < 32; i++) x[i] = v[i] + v[i ^ m];
        for (int i = 0; i < 32; i++) v[i] = x[i];
      }
      g = v[t % 32];
    }
    CHECK(o[t * 8 + 6] == g && g == r);
  }
  tree<<<1, 40>>>(d);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 40; t++) CHECK(d[t] == t * .5 * (t * .5 + 2) + t);
  return verdict();
}
