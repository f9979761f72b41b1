// Shared memory that wgmma reads, by the async proxy, until the threads of its warpgroup wait for it.
//
// For each 16 bytes of shared memory and each warpgroup the number is kept of the last group of wgmma that read them. A
// write there must come after a thread of that warpgroup has waited for the group, in the order that order.py knows.
// The bytes that wgmma reads must have been written before, as each warp of the warpgroup has seen; where generic
// stores wrote them, a fence.proxy.async must follow: of the thread that wrote, or of one that had seen the write.
//
// PTX ISA: 8.6 (proxies), 9.7.15.5 (wgmma), 9.7.13.4 (fence.proxy.async).
#include "check/check.h"

namespace {

constexpr u32 CHUNK_BYTES = 16;

// Whether a write of this block was seen, by the async proxy too; else a fault.
bool look(const Reading &read, const Kept &write) {
  Context *ctx = read.ctx;
  bool fresh = write.label >= ctx->epoch;
  for (u32 lane : Bits{write.lanes}) {
    u32 writer = write.thread(lane);
    if (fresh && ctx->matrix_known[writer] < write.label) return read.report(write, lane, 0);
    if (ctx->proxied[writer] < write.label && emu_order(ctx, ORDER_GENERIC, read.tid, write.site(), 0))
      return read.report(write, lane, other_kind::UNPROXIED);
  }
  return true;
}

// Whether a write of another block of the cluster was seen; else a fault. The last write asked about is remembered: one
// copy fills many cells.
bool look_across(const Reading &read, const Kept &write) {
  Context *ctx = read.ctx;
  u64 what = write.label_and_lanes(write.lanes);
  u32 group = ctx->matrix_group;
  bool same = ctx->peer_meta == write.meta && ctx->peer_labels == what && ctx->peer_group == group;
  if (same || !is_mate(ctx, write.block())) return true;
  if (!emu_order(ctx, ORDER_WGMMA_ACROSS, read.tid, write.place(), what))
    return read.report(write, first_bit(write.lanes), 0);
  ctx->peer_meta = write.meta;
  ctx->peer_labels = what;
  ctx->peer_group = group;
  return true;
}

}  // namespace

extern "C" {

// wgmma of the warpgroup of a thread reads 16 bytes: 1, or 0 and a fault.
u32 emu_matrix_read(Context *ctx, u32 tid, u32 site, u64 address) {
  ctx->matrix_reads[(address - (u64)ctx->smem) / CHUNK_BYTES].group[tid / 128] = ctx->matrix_group;
  const Reading read{ctx, tid, site, address, CHUNK_BYTES};
  return read.each_write(cell_of(ctx, address), [&](const Kept &write) {
    return write.block() == ctx->block ? look(read, write) : look_across(read, write);
  });
}

// A thread writes bytes of shared memory, or begins a copy that will: 1, or 0 and a fault.
u32 emu_matrix_written(Context *ctx, u32 tid, u32 site, u64 address, u32 size) {
  Context *owner = owner_of(ctx, address);
  if (!owner || !owner->matrix_reads) return 1;
  u64 offset = address - (u64)owner->smem, first = offset / CHUNK_BYTES;
  u32 chunks = (offset % CHUNK_BYTES + size + CHUNK_BYTES - 1) / CHUNK_BYTES;
  u32 warpgroups = (ctx->threads + 127) / 128, asked = 0;
  for (u64 chunk = first; chunk < first + chunks; ++chunk)
    for (u32 warpgroup = 0; warpgroup < warpgroups; ++warpgroup) {
      u32 group = owner->matrix_reads[chunk].group[warpgroup];
      if (!group || group == asked) continue;
      if (!emu_order(ctx, ORDER_WGMMA_DONE, tid, group, (u64)owner)) {
        emu_fault(ctx, RACE, site, tid, (u64)owner->smem + chunk * CHUNK_BYTES, CHUNK_BYTES, WRITE);
        return 0;
      }
      asked = group;
    }
  return 1;
}
}
