// Threads that begin: the state of a block's scheduler, and a place for each coroutine's frame; and threads that leave
// a block of regions (translate/leaving_threads.py) before the others do.
#include "machine/grid.h"

void begin_threads(Context *ctx) {
  for (u32 warp = 0; warp < ctx->warps; ++warp) {
    u32 rest = ctx->threads - 32 * warp;
    ctx->live[warp] = ctx->ready[warp] = rest < 32 ? (1u << rest) - 1 : ~0u;
    ctx->exited[warp] = ctx->in_warp[warp] = ctx->in_active[warp] = 0;
    ctx->in_barrier[warp] = ctx->at_cluster[warp] = ctx->polling[warp] = 0;
  }
  __builtin_memset(ctx->arrived, 0, sizeof ctx->arrived);
  __builtin_memset(ctx->at_barrier, 0, sizeof ctx->at_barrier);
  __builtin_memset(ctx->arrived_extra, 0, sizeof ctx->arrived_extra);
  __builtin_memset(ctx->barrier_votes, 0, sizeof ctx->barrier_votes);
  __builtin_memset(ctx->handle, 0, sizeof *ctx->handle * ctx->threads);
  ctx->barriers_used = ctx->barriers_voting = 0;
}

extern "C" {
void *aligned_alloc(size_t, size_t);
void free(void *);

// A thread's coroutine frame: slices of one allocation, made by the first thread and kept with the slot.
void *emu_frame(Context *ctx, u32 tid, u64 size) {
  u64 rounded = (size + 127) & -64ull, total = rounded * ctx->threads;
  if (ctx->frame_bytes < total) {
    free(ctx->frames);
    ctx->frames = (u8 *)aligned_alloc(64, total);
    ctx->frame_bytes = total;
  }
  return ctx->frames + rounded * tid;
}

// Take the threads outside of a box out of `active` (a byte a thread). `box` has the first coordinates of those inside,
// x, y and z, then the ends.
void emu_trim(Context *ctx, u8 *active, const u64 *box) {
  u32 tid = 0;
  for (u32 z = 0; z < ctx->block_dim[2]; ++z)
    for (u32 y = 0; y < ctx->block_dim[1]; ++y)
      for (u32 x = 0; x < ctx->block_dim[0]; ++x, ++tid)
        active[tid] &= box[0] <= x && x < box[3] && box[1] <= y && y < box[4] && box[2] <= z && z < box[5];
}

// Take the threads marked in `leave` out of `active`, and those outside of `box`. NOBODY is left; or a BOX of threads,
// which is set; or, RAGGED, others.
u32 emu_leave(Context *ctx, u8 *active, const u8 *leave, u64 *box) {
  emu_trim(ctx, active, box);
  u32 nx = ctx->block_dim[0], ny = ctx->block_dim[1], first[3] = {~0u, ~0u, ~0u}, end[3] = {}, count = 0;
  for (u32 tid = 0; tid < ctx->threads; ++tid) {
    active[tid] &= leave[tid] ^ 1;
    if (!active[tid]) continue;
    const u32 place[3] = {tid % nx, tid / nx % ny, tid / nx / ny};
    for (u32 i = 0; i < 3; ++i) first[i] = min(first[i], place[i]), end[i] = max(end[i], place[i] + 1);
    ++count;
  }
  if (!count) return left::NOBODY;
  if ((end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]) != count) return left::RAGGED;
  for (u32 i = 0; i < 3; ++i) box[i] = first[i], box[3 + i] = end[i];
  return left::BOX;
}
}
