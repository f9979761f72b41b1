// libcu++: atomics of every operation, references, waits, semaphores, latches.
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include "check.h"

template <typename T>
__global__ void adds(cuda::atomic<T, cuda::thread_scope_device> *a) {
  a->fetch_add(threadIdx.x + blockIdx.x, cuda::memory_order_relaxed);
}
__global__ void refs(float *f, double *d, unsigned long long *m, int *lo, unsigned char *bytes, short *shorts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<float, cuda::thread_scope_device>(*f).fetch_add(0.5f);
  cuda::atomic_ref<double, cuda::thread_scope_device>(*d).fetch_sub(0.25);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*m).fetch_max(i * 977ull % 1000);
  cuda::atomic_ref<int, cuda::thread_scope_device>(*lo).fetch_min(-(i * 977 % 1000));
  cuda::atomic_ref<unsigned char>(bytes[i % 4]).fetch_add(1);
  cuda::atomic_ref<short>(shorts[i % 2]).fetch_xor((short)(1 << i % 15));
}
__global__ void wait_notify(int *o) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
  __shared__ int data;
  if (threadIdx.x == 0) flag.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 32) {
    data = 42;
    flag.store(1, cuda::memory_order_release);
    flag.notify_all();
  } else {
    flag.wait(0, cuda::memory_order_acquire);
    o[threadIdx.x] = data;
  }
}
__global__ void guarded(int *x, cuda::binary_semaphore<cuda::thread_scope_device> *lock) {
  if (threadIdx.x % 32) return;
  lock->acquire();
  *x = *x + 1;
  lock->release();
}
__global__ void latched(int *o) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Latch) char raw[sizeof(Latch)];
  Latch &l = *(Latch *)raw;
  __shared__ int x[64];
  if (threadIdx.x == 0) new (&l) Latch(64);
  __syncthreads();
  x[threadIdx.x] = threadIdx.x * 3;
  l.arrive_and_wait();
  o[threadIdx.x] = x[63 - threadIdx.x];
}
struct Pair { int a, b; };
__global__ void struct_cas(cuda::atomic<Pair, cuda::thread_scope_device> *p) {
  Pair old = p->load();
  while (!p->compare_exchange_weak(old, Pair{old.a + 1, old.b + (int)threadIdx.x})) {}
}
__global__ void flag_once(cuda::std::atomic_flag *f, int *n) {
  if (!f->test_and_set()) atomicAdd(n, 1);
}
__global__ void system_scope(cuda::atomic<int, cuda::thread_scope_system> *s) { (*s)++; }

int main() {
  cuda::atomic<int, cuda::thread_scope_device> *i = (decltype(i))managed<int>(1);
  cuda::atomic<unsigned long long, cuda::thread_scope_device> *u = (decltype(u))managed<unsigned long long>(1);
  cuda::atomic<double, cuda::thread_scope_device> *d = (decltype(d))managed<double>(1);
  new (i) cuda::atomic<int, cuda::thread_scope_device>(5);
  new (u) cuda::atomic<unsigned long long, cuda::thread_scope_device>(1ull << 40);
  new (d) cuda::atomic<double, cuda::thread_scope_device>(0.5);
  adds<<<4, 32>>>(i);
  adds<<<4, 32>>>(u);
  adds<<<4, 32>>>(d);
  CUDA(cudaDeviceSynchronize());
  int sum = 4 * 496 + 32 * 6;
  CHECK(i->load() == 5 + sum && u->load() == (1ull << 40) + sum && d->load() == 0.5 + sum);
  auto f = managed<float>(1);
  auto dd = managed<double>(1);
  auto m = managed<unsigned long long>(1);
  auto lo = managed<int>(1);
  auto bytes = managed<unsigned char>(4);
  auto shorts = managed<short>(2);
  *f = 1, *dd = 2, *m = 0, *lo = 7, memset(bytes, 250, 4), shorts[0] = shorts[1] = 0;
  refs<<<4, 60>>>(f, dd, m, lo, bytes, shorts);
  CUDA(cudaDeviceSynchronize());
  unsigned long long high = 0;
  short x[2] = {};
  for (int t = 0; t < 240; t++) high = std::max(high, t * 977ull % 1000), x[t % 2] ^= 1 << t % 15;
  CHECK(*f == 121 && *dd == 2 - 60 && *m == high && *lo == -(int)high);
  for (int k = 0; k < 4; k++) CHECK(bytes[k] == (unsigned char)(250 + 60));
  CHECK(shorts[0] == x[0] && shorts[1] == x[1]);
  auto o = managed<int>(64);
  wait_notify<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++) CHECK(t == 32 || o[t] == 42);
  auto lock = (cuda::binary_semaphore<cuda::thread_scope_device> *)managed<long long>(16);
  new (lock) cuda::binary_semaphore<cuda::thread_scope_device>(1);
  o[0] = 0;
  guarded<<<8, 64>>>(o, lock);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 16);
  latched<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++) CHECK(o[t] == (63 - t) * 3);
  auto p = (cuda::atomic<Pair, cuda::thread_scope_device> *)managed<long long>(1);
  new (p) cuda::atomic<Pair, cuda::thread_scope_device>(Pair{0, 0});
  struct_cas<<<2, 32>>>(p);
  CUDA(cudaDeviceSynchronize());
  Pair pair = p->load();
  CHECK(pair.a == 64 && pair.b == 992);
  auto flag = (cuda::std::atomic_flag *)managed<int>(1);
  new (flag) cuda::std::atomic_flag();
  o[0] = 0;
  flag_once<<<2, 64>>>(flag, o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 1);
  auto s = (cuda::atomic<int, cuda::thread_scope_system> *)managed<int>(1);
  new (s) cuda::atomic<int, cuda::thread_scope_system>(0);
  system_scope<<<2, 64>>>(s);
  CUDA(cudaDeviceSynchronize());
  CHECK(*s == 128);
  return verdict();
}
