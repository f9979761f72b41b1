// Shuffles, votes, matches and reductions of a warp, whole and in part.
#include "check.h"

__global__ void k(unsigned *o) {
  int l = threadIdx.x % 32;
  unsigned *r = o + threadIdx.x * 16;
  r[0] = __shfl_sync(~0u, l * 3, l + 5);
  r[1] = __shfl_up_sync(~0u, l, 3, 8);
  r[2] = __shfl_down_sync(~0u, l, 3, 8);
  r[3] = __shfl_xor_sync(~0u, l, 9, 16);
  r[4] = __ballot_sync(~0u, l % 3 == 0);
  r[5] = __any_sync(~0u, l == 9);
  r[6] = __all_sync(~0u, l < 32);
  r[7] = __match_any_sync(~0u, l / 5);
  int p;
  unsigned all = __match_all_sync(~0u, 7, &p);
  r[8] = all + p;
  r[9] = __reduce_add_sync(~0u, (unsigned)l);
  r[10] = __reduce_max_sync(~0u, l * 7 % 32);
  r[11] = __reduce_xor_sync(~0u, 1u << l);
  r[12] = __activemask();
  if (l < 10) {
    r[13] = __shfl_sync(0x3ff, l, l + 1);
    r[14] = __activemask();
    __syncwarp(0x3ff);
  } else {
    r[13] = 77;
    r[14] = __ballot_sync(~0x3ffu, l & 1);
  }
  r[15] = __shfl_sync(~0u, (unsigned)(clock() > 0), 0);
}

int main() {
  auto o = managed<unsigned>(64 * 16);
  k<<<1, 64>>>(o);
  CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t++) {
    unsigned l = t % 32, *r = o + t * 16;
    CHECK(r[0] == (l + 5) % 32 * 3);
    CHECK(r[1] == (l % 8 >= 3 ? l - 3 : l));
    CHECK(r[2] == (l % 8 < 5 ? l + 3 : l));
    CHECK(r[3] == (l ^ 9));
    unsigned b = 0;
    for (int i = 0; i < 32; i += 3) b |= 1u << i;
    CHECK(r[4] == b && r[5] == 1 && r[6] == 1);
    unsigned m = 0;
    for (unsigned i = 0; i < 32; i++)
      if (i / 5 == l / 5) m |= 1u << i;
    CHECK(r[7] == m && r[8] == 0 && r[9] == 496 && r[10] == 31 && r[11] == ~0u);
    CHECK(r[12] == ~0u);
    if (l < 10) {
      CHECK(r[13] == (l + 1 < 10 ? l + 1 : r[13]));
    } else CHECK(r[13] == 77 && r[14] == (0xAAAAAAAA & ~0x3ffu));
  }
  return verdict();
}
