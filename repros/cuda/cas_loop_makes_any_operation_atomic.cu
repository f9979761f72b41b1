// /// script
// [tool.repro]
// arch = "sm_75"
// ///
// A loop of atomicCAS makes an atomic operation that the hardware does not have: no update is lost.
// Source: CUDA C++ Programming Guide, atomic functions: any atomic operation can be implemented with atomicCAS().
// CHECK-PTX: atom{{.*}}cas.b32
#include <cstdio>

__device__ float atomic_times(float *place, float factor) {
  int *bits = reinterpret_cast<int *>(place), old = *reinterpret_cast<volatile int *>(bits), seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __float_as_int(__int_as_float(seen) * factor));
  } while (old != seen);
  return __int_as_float(old);
}

__global__ void product(float *x) { atomic_times(x, threadIdx.x % 2 ? 0.5f : 4.0f); }

int main() {
  float *x;
  cudaMallocManaged(&x, sizeof(float));
  *x = 1;
  product<<<2, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  printf("%.1f\n", *x);
  return *x != 4294967296.0f;
}
