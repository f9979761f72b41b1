// A barrier of the block is complete: the order that it gives, and what order.py is asked about it.
#include "check/check.h"

namespace {

// Whether some lanes of a warp wait at one instruction.
bool wait_at_one_site(const Context *ctx, u32 warp, u32 lanes) {
  const u32 *sites = ctx->wait_site + 32 * warp;
  u32 apart = 0;
  for (u32 lane : Bits{lanes}) apart |= sites[lane] ^ sites[first_bit(lanes)];
  return !apart;
}

}  // namespace

extern "C" {

// Barrier `id` is complete. If all threads that run wait at it, a new epoch of the block begins; order.py gets a call
// if others may have come instead: more came than it counts, or some met there alone before.
//
// A thread that has exited has come to a barrier of all threads, and with the rest of its warp to one with a count.
void emu_order_barrier(Context *ctx, u32 id) {
  u32 needed = ctx->barrier_count[id], absent = 0, arrived = 0;
  bool asks = false;
  for (u32 warp = 0; warp < ctx->warps; ++warp) {
    u32 waits = ctx->at_barrier[id][warp], live = ctx->live[warp], exited = ctx->exited[warp];
    arrived |= ctx->arrived[id][warp] & ~waits;
    absent |= needed && !waits ? live : live & ~exited & ~waits;
    asks |= exited || !wait_at_one_site(ctx, warp, waits);
  }
  if (asks) emu_order(ctx, ORDER_BLOCK_MEETING, 0, id, 0);
  if (absent) {
    emu_order(ctx, ORDER_BARRIER, 0, id, 0);
    return;
  }
  bool over = needed && 32 * ctx->warps + ctx->arrived_extra[id] > needed;
  if (over || arrived || ctx->partial_barriers >> id & 1) emu_order(ctx, ORDER_GENERATION, 0, id, 0);
  ctx->epoch = ctx->now = ctx->now + 1;
}
}
