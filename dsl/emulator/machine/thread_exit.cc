// Threads that leave a block of regions (translate/leaving_threads.py) before the others do.
#include "machine/emu.h"

// Take the threads marked in `leave` out of `active` (a byte a thread). NOBODY is left; or a BOX of coordinates below
// `x`, `y`, `z`, which are set; or, RAGGED, others.
extern "C" u32 emu_leave(Context *ctx, u8 *active, const u8 *leave, u64 *x, u64 *y, u64 *z) {
  u32 nx = ctx->block_dim[0], ny = ctx->block_dim[1], end[3] = {}, count = 0;
  for (u32 tid = 0; tid < ctx->threads; ++tid) {
    active[tid] &= leave[tid] ^ 1;
    if (!active[tid]) continue;
    const u32 place[3] = {tid % nx, tid / nx % ny, tid / nx / ny};
    for (u32 i = 0; i < 3; ++i) end[i] = max(end[i], place[i] + 1);
    ++count;
  }
  if (!count) return left::NOBODY;
  if (end[0] * end[1] * end[2] != count) return left::RAGGED;
  *x = end[0], *y = end[1], *z = end[2];
  return left::BOX;
}
