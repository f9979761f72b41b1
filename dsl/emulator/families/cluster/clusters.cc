// Clusters whose blocks meet: a worker takes a cluster from the grid and has a slot for each of its blocks.
//
// The slots of a cluster are a ring (`mate`). One block runs until it has ended or none of its threads can do more than
// wait; then the next one runs, or the one a seed chooses. So blocks of a cluster never run at the same time, and need
// no atomic operation of the host where they meet.
//
// An address in shared memory of the cluster has the rank + 1 of the block with that memory in bits 24 and up; with 0
// there it is an address of the executing block. The host's addresses of the memory of a cluster differ in the same
// bits.
// PTX ISA: 5.1.8 (state space .shared), 9.7.13.3 (barrier.cluster), 9.7.9.23 (mapa).
#include "machine/grid.h"
#include "machine/random.h"

namespace {

constexpr u32 MOST_QUIET = 256;  // turns of each block in which it did nothing but poll, before another cluster begins

// Let a block reach what is at `smem`, the shared memory of another one, as `kind`; 0: no more.
void reach(Context &slot, const u8 *smem, u64 kind) {
  for (u64 i = 0; i < slot.interval_count; ++i)
    if (slot.intervals[i].lo == (u64)smem) slot.intervals[i].kind = kind;
  __builtin_memset(slot.sites, 0, slot.sites_bytes);
}

// The block has ended: its shared memory is nobody's any more.
void depart(Context *ctx) {
  ctx->state = GONE;
  emu_cluster_wake(ctx);
  ctx->idle = ~0u;
  for (Context &slot : Mates{ctx}) {
    slot.absent |= 1ull << (ctx->cluster_rank + 1);
    reach(slot, ctx->smem, 0);
  }
}

// A block whose threads have not begun: others must see that none of them has arrived or left.
void forget_threads(Context &slot) {
  __builtin_memset(slot.live, 0xFF, sizeof slot.live);
  __builtin_memset(slot.exited, 0, sizeof slot.exited);
  __builtin_memset(slot.ready, 0, sizeof slot.ready);
  __builtin_memset(slot.in_barrier, 0, sizeof slot.in_barrier);
  __builtin_memset(slot.in_warp, 0, sizeof slot.in_warp);
  __builtin_memset(slot.arrived, 0, sizeof slot.arrived);
}

// Make the slots of a cluster ready; `ctx` is the slot of its first block. False where a lower block has ended badly
// meanwhile.
bool begin_cluster(Context *ctx, u64 number) {
  const u32 *shape = ctx->cluster, *grid = ctx->grid;
  u64 across = grid[0] / shape[0], down = grid[1] / shape[1];
  bool well = true;
  for (Context &slot : Mates{ctx}) {
    u64 rank = slot.cluster_rank;
    u64 x = number % across * shape[0] + rank % shape[0];
    u64 y = number / across % down * shape[1] + rank / shape[0] % shape[1];
    u64 z = number / across / down * shape[2] + rank / shape[0] / shape[1];
    well &= begin(&slot, (z * grid[1] + y) * grid[0] + x);
    slot.absent = ~((2ull << ctx->cluster_blocks) - 1);
    slot.mbarrier_idle = slot.idle = 0;
    forget_threads(slot);
    for (Context &mate : Mates{ctx}) reach(slot, mate.smem, SHARED);
  }
  return well;
}

// The slots of a cluster are all in `state` now.
void end_cluster(Context *ctx, u32 state) {
  for (Context &slot : Mates{ctx}) slot.state = state;
}

// The next block of the ring; a seed skips some.
Context *next_of(Context *ctx, Context *slot) {
  u32 steps = random(ctx) % ctx->cluster_blocks;
  for (u32 i = 0; i <= steps; ++i) slot = slot->mate;
  return slot;
}

// Blocks of the cluster of `ctx` in turn: until all have ended (true), one ends badly, or all have for long done
// nothing but poll, and others may run.
bool run_cluster(Context *ctx, RunBlock run) {
  u32 quiet = 0, limit = ctx->cluster_blocks * MOST_QUIET;
  bool others = ctx->shared_grid->more;
  Context *slot = ctx;
  do {
    slot = next_of(ctx, slot);  // the second block begins: the first one then goes on first from where they meet
    if (is_absent(*slot)) continue;
    run(slot);
    bool waits = slot->state == WAITING;
    if (!waits) ended(slot);
    if (slot->status) {
      end_cluster(ctx, DEAD);
      if (slot->status != INTERRUPTED) blame(slot);
      return false;
    }
    quiet = slot->idle > SEEDED_PATIENCE + 1 ? quiet + 1 : 0;
    if (waits) continue;
    depart(slot);
    if ((ctx->absent | 1) == ~0ull) {
      end_cluster(ctx, IDLE);
      return true;
    }
  } while (quiet <= limit || !others);
  ctx->state = WAITING;
  return false;
}

}  // namespace

extern "C" {

// The fault of an access of `size` bytes at a bad address in shared::cluster; `crooked`: it is misaligned.
[[gnu::noinline, gnu::cold]] void emu_cluster_bad(Context *ctx, u32 site, u32 tid, u64 address, u64 size, u32 crooked) {
  u64 rank = address >> RANK_SHIFT;
  if (rank > ctx->cluster_blocks) return emu_fault(ctx, ILLEGAL, site, tid, rank - 1, size, BAD_RANK);
  u32 status = ctx->absent >> min<u64>(rank, 63) & 1 ? EXITED : crooked ? MISALIGNED : OUT_OF_BOUNDS;
  emu_fault(ctx, status, site, tid, address, size, CLUSTER);
}

// The rank + 1 of the block whose shared memory a generic address is in; 0 where it is in no block's shared memory.
u32 emu_cluster_rank(Context *ctx, u64 address) {
  for (Context &slot : Mates{ctx})
    if (address - (u64)slot.smem < slot.smem_bytes) return slot.cluster_rank + 1;
  return 0;
}
}

// As families/cluster/emit.py does inline, for accesses whose size is not a power of two.
u64 cluster_place(Context *ctx, u32 site, u32 tid, u64 address, u64 size, u64 alignment) {
  u64 rank = address >> RANK_SHIFT, offset = address & ((1 << RANK_SHIFT) - 1);
  bool absent = ctx->absent >> min<u64>(rank, 63) & 1, crooked = offset & (alignment - 1);
  if (!absent && !crooked && offset + size <= ctx->smem_bytes)
    return address + (rank ? ctx->cluster_base : (u64)ctx->smem);
  emu_cluster_bad(ctx, site, tid, address, crooked ? alignment : size, crooked);
  return 0;
}

// As emu_run_grid, of clusters. `ctx` is the slot of the first block of the worker's first cluster.
extern "C" void emu_run_clusters(Context *ctx, RunBlock run) {
  for (Context *first = ctx; first;) {
    bool runs = true;
    if (first->state == IDLE) {
      i64 number = take(ctx);
      runs = number >= 0 && begin_cluster(first, number);
      if (!runs) end_cluster(first, IDLE);
    }
    if (runs) {
      if (run_cluster(first, run)) continue;
      if (is_halted(first)) end_cluster(first, DEAD);
    }
    first = other(first, ctx);
  }
}
