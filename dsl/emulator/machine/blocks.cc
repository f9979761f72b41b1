// The loop of one worker: it takes blocks from the grid, in order or by a seed, and runs each in a slot.
//
// A worker has one slot, and begins a second block only when the first does nothing but poll memory: then some other
// block must move, as it does on hardware if both are resident. The lowest block that ends badly is the launch's
// fault: higher ones are stopped, lower ones run on until they end or wait for others.
#include "machine/grid.h"
#include "machine/queues.h"

namespace {

u64 first_fault(const Grid *grid) { return __atomic_load_n(&grid->first_fault, __ATOMIC_SEQ_CST); }
template <class T> T relaxed(const T &field) { return __atomic_load_n(&field, __ATOMIC_RELAXED); }

// The first slot after one in its worker's ring, itself last, that is in `state`; null.
Context *next_in(Context *ctx, u32 state) {
  Context *slot = ctx;
  do {
    slot = slot->next;
    if (slot->state == state) return slot;
  } while (slot != ctx);
  return nullptr;
}

}  // namespace

// The next block for this worker, or -1.
i64 take(Context *ctx) {
  Grid *grid = ctx->shared_grid;
  if (ctx->chunk_next >= ctx->chunk_end) {
    u64 first = __atomic_fetch_add(&grid->next_block, grid->chunk, __ATOMIC_RELAXED);
    if (first >= grid->blocks) return -1;
    ctx->chunk_next = first;
    ctx->chunk_end = min(first + grid->chunk, grid->blocks);
  }
  u64 block = ctx->chunk_next++;
  if (grid->block_step) block = (block * grid->block_step + grid->block_start) % grid->blocks;
  return block >= first_fault(grid) || relaxed(grid->halt) ? -1 : block;
}

// Make a slot ready for a block; false where a lower block has ended badly meanwhile.
bool begin(Context *ctx, u64 block) {
  __atomic_store_n(&ctx->block, block, __ATOMIC_SEQ_CST);
  u64 row = block / ctx->grid[0];
  ctx->block_index[0] = block % ctx->grid[0];
  ctx->block_index[1] = row % ctx->grid[1];
  ctx->block_index[2] = row / ctx->grid[1];
  // Memory of a block starts as garbage on hardware; here as 0xFF bytes: NaN as a float, -1 as an integer.
  // A fill of no bytes takes about 30 ns here, which is much for a small block.
  if (ctx->smem_bytes) __builtin_memset(ctx->smem, 0xFF, ctx->smem_bytes);
  if (ctx->local_bytes) __builtin_memset(ctx->local, 0xFF, ctx->local_bytes * ctx->threads);
  if (ctx->queues) reset_queues(ctx);
  if (ctx->bulk) reset_bulk(ctx);
  if (ctx->tensor) reset_tensor_memory(ctx);
  if (ctx->begin_checks) ctx->begin_checks(ctx);
  ctx->refused_site = 0;
  ctx->state = RUNNING;
  return block < first_fault(ctx->shared_grid);
}

// This slot's block ended badly: no higher block is to go on.
[[gnu::noinline, gnu::cold]] void blame(Context *ctx) {
  Grid *grid = ctx->shared_grid;
  __atomic_fetch_min(&grid->first_fault, ctx->block, __ATOMIC_SEQ_CST);
  for (Context *slot = __atomic_load_n(&grid->slots, __ATOMIC_ACQUIRE); slot; slot = slot->every) {
    bool higher = __atomic_load_n(&slot->block, __ATOMIC_SEQ_CST) > ctx->block;
    if (higher) __atomic_store_n(&slot->stop, 1, __ATOMIC_RELAXED);
  }
}

// Whether blocks that wait for other blocks are to give up.
bool is_halted(const Context *ctx) {
  return relaxed(ctx->shared_grid->first_fault) != NO_FAULT || relaxed(ctx->shared_grid->halt);
}

// The slot to go on with when the block of this one cannot: one for a new block, or one that waits; null.
[[gnu::noinline, gnu::cold]] Context *other(Context *ctx, Context *worker) {
  Grid *grid = ctx->shared_grid;
  bool more = worker->chunk_next < worker->chunk_end || relaxed(grid->next_block) < grid->blocks;
  if (more && !is_halted(ctx)) {
    if (Context *idle = next_in(ctx, IDLE)) return idle;
    if (Context *slot = grid->more(worker)) return slot;
  }
  return next_in(ctx, WAITING);
}

// Whether no block of the cluster can go on: each has ended, or its threads wait and have for long.
bool is_cluster_over(Context *ctx) {
  for (Context &slot : Mates{ctx})
    if (slot.mbarrier_idle <= MBARRIER_LOOKS && !is_absent(slot)) return false;
  return true;
}

extern "C" {

// Blocks in order, until none is left, one ends badly, or the launch is halted. `ctx` is the worker's first slot.
void emu_run_grid(Context *ctx, RunBlock run) {
  for (Context *slot = ctx; slot;) {
    if (slot->state == IDLE) {
      i64 block = take(ctx);
      if (block < 0 || !begin(slot, block)) {
        slot->state = IDLE;
        slot = other(slot, ctx);
        continue;
      }
    }
    run(slot);
    if (slot->state != WAITING) ended(slot);
    if (slot->status) {
      slot->state = DEAD;
      if (slot->status != INTERRUPTED) blame(slot);
    } else if (slot->state != WAITING) {
      slot->state = IDLE;
      continue;
    } else if (is_halted(slot)) slot->state = DEAD;
    slot = other(slot, ctx);
  }
}

// Something happened that blocks of the cluster may wait for.
void emu_cluster_wake(Context *ctx) {
  for (Context &slot : Mates{ctx}) slot.mbarrier_idle = slot.idle = 0;
}
}
