// The knowledge of checkers about memory: cells of accesses, and a byte for each byte that was written.
//
// Cells and bytes of shared and local memory belong to the slot and are forgotten when a block begins; each allocation
// that kernels may touch has its own for the time of a launch (races), or as long as it exists (writes). Pages that no
// kernel touches cost nothing.
#include "check/check.h"

namespace {

template <class T> void forget(T *start, u64 nbytes) {
  if (start) __builtin_memset(start, 0, nbytes);
}

}  // namespace

extern "C" {

// Remember the allocation that holds an address, and where its cells and bytes are.
void emu_near(Context *ctx, u64 address) {
  u64 low = 0, high = ctx->interval_count;
  while (low < high) {  // rows before `low` start at or below the address, rows from `high` on above it
    u64 middle = (low + high) / 2;
    if (ctx->intervals[middle].lo > address) high = middle;
    else low = middle + 1;
  }
  ctx->near_lo = address;
  ctx->near_bytes = 0;
  ctx->near_cells = nullptr;
  ctx->near_valid = nullptr;
  if (!low || address >= ctx->intervals[low - 1].hi) return;
  const Interval &row = ctx->intervals[low - 1];
  const Shadow &shadow = ctx->shadows[low - 1];
  ctx->near_lo = row.lo;
  ctx->near_bytes = row.hi - row.lo;
  ctx->near_cells = shadow.cells;
  ctx->near_valid = shadow.valid;
}

// A block begins: nobody has met, nothing is written, no thread has done anything.
void emu_begin_checks(Context *ctx) {
  u64 threads = ctx->threads;
  ctx->now = ctx->epoch = 1;
  ctx->exchanges = 0;
  ctx->partial_barriers = 0;
  forget(ctx->labels, threads * sizeof(u32));
  forget(ctx->known, 2 * threads * threads * sizeof(u32));
  forget(ctx->met, ctx->warps * sizeof(Met));
  forget(ctx->smem_valid, ctx->smem_bytes);
  forget(ctx->local_valid, ctx->local_bytes * threads);
  forget(ctx->proxied, threads * sizeof(u32));
  forget(ctx->matrix_reads, ctx->smem_bytes / 16 * sizeof(MatrixReads));
  for (u32 tid = 0; ctx->trail && tid < threads; ++tid) ctx->trail[tid].count = ctx->trail[tid].rounds = 0;
}
}
