// Threads of a block that meet at one of its 16 barriers, or at the one of their cluster. PTX ISA: barrier.
#include "machine/grid.h"

namespace {

// Common to sync and arrive: checks the id and count, sets the lane's bit. False after a fault.
[[gnu::always_inline]] inline bool register_arrival(Context *ctx, u32 tid, u32 id, u32 count, u32 site) {
  if (id >= CLUSTER_BARRIER) return illegal(ctx, tid, site, BAD_BARRIER, id);
  if (count & 31) return illegal(ctx, tid, site, COUNT_NOT_WARPS, count);
  bool used = ctx->barriers_used >> id & 1;
  if (used && ctx->barrier_count[id] != count) return illegal(ctx, tid, site, BARRIER_COUNTS, count);
  ctx->barriers_used |= 1u << id;
  ctx->barrier_count[id] = count;
  Lane lane(tid);
  u32 &arrived = ctx->arrived[id][lane.warp];
  ctx->arrived_extra[id] += (arrived & lane.bit) != 0;
  arrived |= lane.bit;
  return true;
}

void wait_at(Context *ctx, u32 tid, u32 id, u32 site) {
  Lane lane(tid);
  ctx->b[tid] = id;
  ctx->wait_site[tid] = site;
  ctx->at_barrier[id][lane.warp] |= lane.bit;
  ctx->in_barrier[lane.warp] |= lane.bit;
  ctx->ready[lane.warp] &= ~lane.bit;
}

// The lanes of a warp that a barrier does not wait for.
u32 arrived_or_gone(const Context &ctx, u32 id, u32 warp) {
  return ctx.arrived[id][warp] | ctx.exited[warp] | ~ctx.live[warp];
}

// Whether a warp has come to a barrier: some lane has, and every other has too or has exited.
bool is_here(const Context &ctx, u32 id, u32 warp) {
  return ctx.arrived[id][warp] && arrived_or_gone(ctx, id, warp) == ~0u;
}

// Whether a barrier has all it waits for: every running thread, or `barrier_count` threads of warps whose threads have
// all come.
bool is_complete(const Context &ctx, u32 id) {
  u32 total = ctx.arrived_extra[id], missing = 0;
  for (u32 warp = 0; warp < ctx.warps; ++warp) {
    missing |= ~arrived_or_gone(ctx, id, warp);
    if (is_here(ctx, id, warp)) total += 32;
  }
  u32 needed = ctx.barrier_count[id];
  return needed ? total >= needed : !missing;
}

// barrier.red: the number of true predicates, and whether all were true.
[[gnu::noinline]] void tell_votes(Context &ctx, u32 id) {
  u32 waiters = 0, votes = ctx.barrier_votes[id];
  for (u32 warp = 0; warp < ctx.warps; ++warp) waiters += count(ctx.at_barrier[id][warp]);
  for (u32 warp = 0; warp < ctx.warps; ++warp)
    for (u32 lane : Bits{ctx.at_barrier[id][warp]}) {
      ctx.out[32 * warp + lane] = votes;
      ctx.out_pred[32 * warp + lane] = votes == waiters;
    }
  ctx.barrier_votes[id] = 0;
  ctx.barriers_voting &= ~(1u << id);
}

// Who waits is ready again, and has what the barrier reduced: each runs before the barrier can be complete again. If
// more warps come than it counts, the first go on; the others have come to its next generation.
void release(Context &ctx, u32 id) {
  if (ctx.barriers_voting >> id & 1) tell_votes(ctx, id);
  u32 needed = ctx.barrier_count[id], came = ctx.arrived_extra[id];
  bool later = false;
  for (u32 warp = 0; warp < ctx.warps; ++warp) {
    u32 arrived = ctx.arrived[id][warp], waiters = ctx.at_barrier[id][warp];
    if (needed && arrived && (came >= needed || !is_here(ctx, id, warp))) {
      later = true;
      continue;
    }
    ctx.in_barrier[warp] &= ~waiters;
    ctx.ready[warp] |= waiters;
    ctx.at_barrier[id][warp] = ctx.arrived[id][warp] = 0;
    if (arrived) came += 32;
  }
  ctx.arrived_extra[id] = 0;
  if (!later) ctx.barriers_used &= ~(1u << id);
}

// Release the barrier of the cluster in all its blocks, if their threads have arrived or exited.
bool resolve_cluster(Context *ctx) {
  for (Context &slot : Mates{ctx})
    if (!is_complete(slot, CLUSTER_BARRIER)) return false;
  tell_order(ctx, ORDER_CLUSTER_DONE, 0, 0);
  for (Context &slot : Mates{ctx}) {
    release(slot, CLUSTER_BARRIER);
    slot.mbarrier_idle = 0;
    slot.idle &= ~STUCK;
  }
  return true;
}

}  // namespace

// Release every barrier that is complete; whether there was one.
bool resolve_barriers(Context *ctx) {
  u32 used = ctx->barriers_used;
  bool moved = used >> CLUSTER_BARRIER && resolve_cluster(ctx);
  for (u32 id : Bits{used & ((1u << CLUSTER_BARRIER) - 1)})
    while (is_complete(*ctx, id)) {
      if (ctx->order_barrier) ctx->order_barrier(ctx, id);
      if (ctx->status) return true;  // the checkers have lost count of who came to which generation
      release(*ctx, id);
      moved = true;
    }
  return moved;
}

extern "C" {

// A thread comes and waits; its vote is 0, 1, or NO_VOTE where nothing is reduced.
u32 emu_wait_barrier(Context *ctx, u32 tid, u32 id, u32 count, u32 vote, u32 site) {
  if (!register_arrival(ctx, tid, id, count, site)) return 0;
  if (vote != barrier::NO_VOTE) {
    ctx->barrier_votes[id] += vote;
    ctx->barriers_voting |= 1u << id;
  }
  wait_at(ctx, tid, id, site);
  return 1;
}

u32 emu_arrive(Context *ctx, u32 tid, u32 id, u32 count, u32 site) {
  if (!register_arrival(ctx, tid, id, count, site)) return 0;
  tell_order(ctx, ORDER_ARRIVE, tid, id, site);
  return 1;
}

// A thread comes to the barrier of its cluster: until that is complete its bit is set.
u32 emu_arrive_cluster(Context *ctx, u32 tid, u32 site) {
  Lane lane(tid);
  if (ctx->at_cluster[lane.warp] & lane.bit) return illegal(ctx, tid, site, ARRIVED_TWICE);
  ctx->at_cluster[lane.warp] |= lane.bit;
  ctx->barriers_used |= 1u << CLUSTER_BARRIER;
  ctx->barrier_count[CLUSTER_BARRIER] = 0;
  ctx->arrived[CLUSTER_BARRIER][lane.warp] |= lane.bit;
  return 1;
}

// Whether the thread has to wait (WAITS) for others at the barrier of its cluster, or all have come (PASSES).
u32 emu_wait_cluster(Context *ctx, u32 tid, u32 site) {
  Lane lane(tid);
  if (!(ctx->at_cluster[lane.warp] & lane.bit)) return illegal(ctx, tid, site, NOT_ARRIVED);
  ctx->at_cluster[lane.warp] &= ~lane.bit;
  if (!(ctx->arrived[CLUSTER_BARRIER][lane.warp] & lane.bit)) return barrier::PASSES;
  wait_at(ctx, tid, CLUSTER_BARRIER, site);
  return barrier::WAITS;
}
}
