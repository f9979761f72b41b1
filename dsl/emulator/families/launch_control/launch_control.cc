// clusterlaunchcontrol: a running cluster takes over one that has not begun. The request is decided at once; the answer
// lands later, as a bulk copy into shared memory does. PTX ISA 9.7.13.17, 9.7.13.18.
#include "machine/grid.h"
#include "machine/random.h"

extern "C" u32 emu_async_store(Context *, u32 tid, u32 site, u32 kind, u64 address, u64 barrier, u32 size, u64 low,
                               u64 high);

namespace {

// The ctaid of the first block of a cluster, as an answer has it.
u64 first_block(const Context *ctx, u64 cluster) {
  const u32 *shape = ctx->cluster, *grid = ctx->grid;
  u64 across = grid[0] / shape[0], down = grid[1] / shape[1];
  u64 x = cluster % across * shape[0], y = cluster / across % down * shape[1], z = cluster / across / down * shape[2];
  return x | y << answer::Y_SHIFT | z << answer::Z_SHIFT;
}

// The number of a cluster that nobody has begun, and that nobody will; -1: the request is refused.
i64 take_cluster(Context *ctx) { return random(ctx) % answer::REFUSED_EARLY == 1 ? -1 : take(ctx); }

}  // namespace

extern "C" {

// Ask for a cluster. `address` and `barrier` are in shared::cluster; of a multicast the blocks in `mask` get the answer
// at the same places. 0 after a fault.
u32 emu_try_cancel(Context *ctx, u32 tid, u32 site, u64 address, u64 barrier, u32 mask) {
  if (ctx->refused_site) return illegal(ctx, tid, site, ASKED_AGAIN, ctx->refused_site - 1);
  i64 cluster = take_cluster(ctx);
  u64 low = first_block(ctx, cluster), high = cluster < 0 ? answer::REFUSED : answer::GRANTED;  // REFUSED: low is open
  bool many = mask & MULTICAST;
  for (u32 rank : Bits{many ? mask & (MULTICAST - 1) : 1}) {
    u64 there = many ? (u64)(rank + 1) << RANK_SHIFT : 0;
    if (!emu_async_store(ctx, tid, site, async_store::STORE, address | there, barrier | there, 16, low, high)) return 0;
  }
  return 1;
}

// Whether the answer with this high half grants a cluster: 1, or 0, or -1 after a fault. The block has seen a refusal.
u32 emu_is_canceled(Context *ctx, u32 tid, u32 site, u64 high) {
  if (high == answer::GRANTED) return 1;
  if (high != answer::REFUSED) return illegal(ctx, tid, site, NO_ANSWER) - 1;
  ctx->refused_site = site + 1;
  return 0;
}
}
