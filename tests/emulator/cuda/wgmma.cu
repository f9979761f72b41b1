// wgmma by inline PTX, for test_wgmma.py: each kernel is one warpgroup (or more) that makes a small product.
// Operands in shared memory are K-major under the 128-byte swizzle, unless it is said.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define D16(d, i) "+f"(d[i]), "+f"(d[i+1]), "+f"(d[i+2]), "+f"(d[i+3]), "+f"(d[i+4]), "+f"(d[i+5]), "+f"(d[i+6]), "+f"(d[i+7]), \
  "+f"(d[i+8]), "+f"(d[i+9]), "+f"(d[i+10]), "+f"(d[i+11]), "+f"(d[i+12]), "+f"(d[i+13]), "+f"(d[i+14]), "+f"(d[i+15])
#define R32 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31}"

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
__device__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// A descriptor of rows of 128 bytes, eight of them 1024 bytes from the next eight.
__device__ uint64_t matrix(const void* p, uint64_t leading = 16, uint64_t stride = 1024, uint64_t mode = 1) {
  uint64_t start = __cvta_generic_to_shared(p);
  return (start & 0x3FFFF) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}

// D (64, 64) += A * B. The type is a name in the PTX; `tail` are the constants behind scale-d.
#define SS(name, form, tail)                                                                                     \
  __device__ void name(float (&d)[32], uint64_t a, uint64_t b, int adds) {                                       \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64" form " " R32        \
                 ", %32, %33, p, " tail ";}"                                                                     \
                 : D16(d, 0), D16(d, 16) : "l"(a), "l"(b), "r"(adds));                                           \
  }
SS(mma_bf16, "k16.f32.bf16.bf16", "1, 1, 0, 0")
SS(mma_f16, "k16.f32.f16.f16", "1, 1, 0, 0")
SS(mma_f16_b_by_n, "k16.f32.f16.f16", "1, 1, 0, 1")
SS(mma_f16_minus, "k16.f32.f16.f16", "-1, 1, 0, 0")
SS(mma_tf32, "k8.f32.tf32.tf32", "1, 1")
SS(mma_fp8, "k32.f32.e4m3.e5m2", "1, 1")
__device__ void mma_rs(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " R32 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : D16(d, 0), D16(d, 16) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#define INTEGERS(name, form)                                                                                     \
  __device__ void name(int (&d)[4], uint64_t a, uint64_t b) {                                                    \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8" form " {%0, %1, %2, %3}, %4, %5, 1;"                       \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "l"(a), "l"(b));                             \
  }
INTEGERS(mma_s8, "k32.s32.s8.s8")
INTEGERS(mma_bits, "k256.s32.b1.b1.and.popc")

// Copy rows of 128 bytes to shared memory, swizzled.
__device__ void put(uint8_t* smem, const void* global, int rows, int thread, int threads) {
  for (int i = thread; i < rows * 8; i += threads) {
    int row = i / 8, chunk = i % 8;
    reinterpret_cast<uint4*>(smem)[row * 8 + (chunk ^ row % 8)] = reinterpret_cast<const uint4*>(global)[i];
  }
}

template <typename T> __device__ void give(T* out, const T* d, int count, int columns) {
  int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4;
  for (int i = 0; i < count; i++) out[(row + i / 2 % 2 * 8) * columns + i / 4 * 8 + thread % 4 * 2 + i % 2] = d[i];
}

// One warpgroup: A (64 rows of 128 bytes), B (64 rows of 128 bytes), four steps along K.
#define PRODUCT(kernel, mma)                                                                                     \
  extern "C" __global__ void kernel(const uint8_t* a, const uint8_t* b, float* out) {                            \
    __shared__ alignas(1024) uint8_t sa[8192], sb[8192];                                                         \
    put(sa, a, 64, threadIdx.x, 128), put(sb, b, 64, threadIdx.x, 128);                                          \
    proxy_fence();                                                                                               \
    __syncthreads();                                                                                             \
    float d[32];                                                                                                 \
    for (int i = 0; i < 32; i++) d[i] = 0;                                                                       \
    fence();                                                                                                     \
    for (int k = 0; k < 4; k++) mma(d, matrix(sa) + 2 * k, matrix(sb) + 2 * k, k > 0);                           \
    commit();                                                                                                    \
    wait<0>();                                                                                                   \
    give(out, d, 32, 64);                                                                                        \
  }
PRODUCT(product_bf16, mma_bf16)
PRODUCT(product_tf32, mma_tf32)
PRODUCT(product_fp8, mma_fp8)
PRODUCT(product_minus, mma_f16_minus)

#define INTEGER_PRODUCT(kernel, mma)                                                                             \
  extern "C" __global__ void kernel(const uint8_t* a, const uint8_t* b, int* out) {                              \
    __shared__ alignas(1024) uint8_t sa[8192], sb[1024];                                                         \
    put(sa, a, 64, threadIdx.x, 128), put(sb, b, 8, threadIdx.x, 128);                                           \
    proxy_fence();                                                                                               \
    __syncthreads();                                                                                             \
    int d[4] = {0, 0, 0, 0};                                                                                     \
    fence();                                                                                                     \
    for (int k = 0; k < 4; k++) mma(d, matrix(sa) + 2 * k, matrix(sb) + 2 * k);                                  \
    commit();                                                                                                    \
    wait<0>();                                                                                                   \
    give(out, d, 4, 8);                                                                                          \
  }
INTEGER_PRODUCT(product_s8, mma_s8)
INTEGER_PRODUCT(product_bits, mma_bits)

// B (64 of K, 64 of N) with N fastest.
extern "C" __global__ void product_b_by_n(const uint8_t* a, const uint8_t* b, float* out) {
  __shared__ alignas(1024) uint8_t sa[8192], sb[8192];
  put(sa, a, 64, threadIdx.x, 128), put(sb, b, 64, threadIdx.x, 128);
  proxy_fence();
  __syncthreads();
  float d[32];
  for (int i = 0; i < 32; i++) d[i] = 0;
  fence();
  for (int k = 0; k < 4; k++) mma_f16_b_by_n(d, matrix(sa) + 2 * k, matrix(sb + 2048 * k, 8192, 1024), 1);
  commit();
  wait<0>();
  give(out, d, 32, 64);
}

// One step of attention: P = exp(Q K^T) stays in registers and is A of the second product; V has N fastest.
extern "C" __global__ void attention(const uint8_t* q, const uint8_t* k, const uint8_t* v, float* out) {
  __shared__ alignas(1024) uint8_t sq[8192], sk[8192], sv[8192];
  put(sq, q, 64, threadIdx.x, 128), put(sk, k, 64, threadIdx.x, 128), put(sv, v, 64, threadIdx.x, 128);
  proxy_fence();
  __syncthreads();
  float s[32], o[32];
  for (int i = 0; i < 32; i++) s[i] = o[i] = 0;
  fence();
  for (int i = 0; i < 4; i++) mma_f16(s, matrix(sq) + 2 * i, matrix(sk) + 2 * i, i > 0);
  commit();
  wait<0>();
  uint32_t p[4][4];
  for (int i = 0; i < 16; i++) {
    __half2 two = __floats2half2_rn(exp2f(s[2 * i]), exp2f(s[2 * i + 1]));
    p[i / 4][i % 4] = *reinterpret_cast<uint32_t*>(&two);
  }
  fence();
  for (int i = 0; i < 4; i++) mma_rs(o, p[i], matrix(sv + 2048 * i, 8192, 1024));
  commit();
  wait<0>();
  give(out, o, 32, 64);
}

__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"((uint32_t)__cvta_generic_to_shared(barrier)) : "memory");
}
__device__ void wait_for(uint64_t* barrier, uint32_t parity) {
  asm volatile("{.reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra WAIT;}"
               ::"r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(parity) : "memory");
}
__device__ void load(void* smem, const void* global, uint64_t* barrier, uint32_t bytes) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"((uint32_t)__cvta_generic_to_shared(smem)), "l"(global), "r"(bytes),
               "r"((uint32_t)__cvta_generic_to_shared(barrier)) : "memory");
}

// A ring of two stages: one thread of the first warpgroup loads tiles that are swizzled in memory, the others compute.
// `WARPGROUPS` consumers have 64 rows of A each and share B. One thread of each releases a stage.
template <int WARPGROUPS, int EARLY>
__device__ void ring(const uint8_t* a, const uint8_t* b, float* out, int tiles) {
  extern __shared__ __align__(1024) uint8_t stages[];  // RING_BYTES in test_wgmma.py
  auto sa = reinterpret_cast<uint8_t(*)[8192 * WARPGROUPS]>(stages);
  auto sb = reinterpret_cast<uint8_t(*)[8192]>(stages + 2 * 8192 * WARPGROUPS);
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((uint32_t)__cvta_generic_to_shared(&full[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(&empty[i])),
                   "n"(WARPGROUPS));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    if (threadIdx.x == 0)
      for (int t = 0; t < tiles; t++) {
        int stage = t % 2;
        if (t >= 2) wait_for(&empty[stage], (t / 2 - 1) % 2);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"((uint32_t)__cvta_generic_to_shared(&full[stage])), "r"(8192 * (WARPGROUPS + 1)) : "memory");
        load(sa[stage], a + t * 8192 * WARPGROUPS, &full[stage], 8192 * WARPGROUPS);
        load(sb[stage], b + t * 8192, &full[stage], 8192);
      }
    return;
  }
  int group = threadIdx.x / 128 - 1;
  float d[32];
  for (int i = 0; i < 32; i++) d[i] = 0;
  for (int t = 0; t < tiles; t++) {
    int stage = t % 2;
    wait_for(&full[stage], t / 2 % 2);
    fence();
    for (int k = 0; k < 4; k++) mma_f16(d, matrix(sa[stage] + 8192 * group) + 2 * k, matrix(sb[stage]) + 2 * k, 1);
    commit();
    if (EARLY && threadIdx.x % 128 == 0) arrive(&empty[stage]);
    wait<0>();
    if (!EARLY && threadIdx.x % 128 == 0) arrive(&empty[stage]);
  }
  give(out + 64 * 64 * group, d, 32, 64);
}
extern "C" __global__ void ring_of_one(const uint8_t* a, const uint8_t* b, float* out, int tiles) {
  ring<1, 0>(a, b, out, tiles);
}
extern "C" __global__ void ring_of_two(const uint8_t* a, const uint8_t* b, float* out, int tiles) {
  ring<2, 0>(a, b, out, tiles);
}
extern "C" __global__ void ring_released_early(const uint8_t* a, const uint8_t* b, float* out, int tiles) {
  ring<1, 1>(a, b, out, tiles);
}

// The products of the next tile are started before those of this one are waited for.
extern "C" __global__ void pipelined(const uint8_t* a, const uint8_t* b, float* out) {
  __shared__ alignas(1024) uint8_t sa[3][8192], sb[3][8192];
  for (int t = 0; t < 3; t++) {
    put(sa[t], a + 8192 * t, 64, threadIdx.x, 128);
    put(sb[t], b + 8192 * t, 64, threadIdx.x, 128);
  }
  proxy_fence();
  __syncthreads();
  float d[32];
  for (int i = 0; i < 32; i++) d[i] = 0;
  for (int t = 0; t < 3; t++) {
    fence();
    for (int k = 0; k < 4; k++) mma_f16(d, matrix(sa[t]) + 2 * k, matrix(sb[t]) + 2 * k, 1);
    commit();
    wait<1>();
  }
  wait<0>();
  give(out, d, 32, 64);
}
