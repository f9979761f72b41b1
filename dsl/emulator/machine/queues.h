// The queues of copies on their way: of cp.async, one a thread, and of bulk copies, one a block; and tensor memory.
#pragma once
#include "machine/emu.h"

struct CopyEntry {
  u64 destination, source;
  u32 size, source_size, group;
  bool arrives;  // no copy, but the arrival at the mbarrier `destination` once the copies before it are complete

  bool arrives_at(u64 barrier) const { return arrives && (!barrier || destination == barrier); }
};
static_assert(sizeof(BulkQueue::committed) == 4 * MAX_THREADS);

inline CopyQueue &copies_of(Context *ctx, u32 tid) { return ((CopyQueue *)ctx->queues)[tid]; }
inline BulkQueue &bulk_of(Context *ctx) { return *(BulkQueue *)ctx->bulk; }

// The rank of the block that an address in shared::cluster is of.
inline u64 rank_of(const Context *ctx, u64 address) {
  return address >> RANK_SHIFT ? (address >> RANK_SHIFT) - 1 : ctx->cluster_rank;
}

// The address in the block of a rank that is at the same place.
inline u64 of_rank(u64 address, u64 rank) { return (rank + 1) << RANK_SHIFT | (address & ((1 << RANK_SHIFT) - 1)); }

// The rank of the block whose mbarrier a multicast signals for its copy to the block `rank`: that block itself. With
// .cta_group::2 it is the block of the pair of `rank` that is even if the mbarrier's block is even, and odd if that is
// odd. PTX ISA 9.7.9.27.1.2.
inline u64 signalled_rank(const Context *ctx, u64 barrier, u32 mask, u64 rank) {
  return mask & PAIRED ? (rank & ~1ull) | (rank_of(ctx, barrier) & 1) : rank;
}

extern "C" void *realloc(void *, size_t);

// A new entry at the end of a queue.
template <class Queue, class Entry>
Entry &add_entry(Queue &queue, Entry *Queue::*entries, u32 Queue::*count = &Queue::count,
                 u32 Queue::*room = &Queue::room) {
  if (queue.*count == queue.*room) {
    queue.*room = 2 * (queue.*count) + 16;
    queue.*entries = (Entry *)realloc(queue.*entries, queue.*room * sizeof(Entry));
  }
  return (queue.*entries)[(queue.*count)++];
}

// A block begins, so forget what is pending: copies that nobody waited for never land.
inline void reset_queues(Context *ctx) {
  for (u32 tid = 0; tid < ctx->threads; ++tid) {
    CopyQueue &queue = copies_of(ctx, tid);
    queue.count = queue.head = queue.committed = queue.done = queue.arrivals = 0;
    queue.gone = 0;
  }
}
inline void reset_bulk(Context *ctx) {
  bulk_of(ctx).count = 0;
  __builtin_memset(bulk_of(ctx).committed, 0, sizeof BulkQueue::committed);
}

inline TensorState &tensor_of(const Context *ctx) { return *(TensorState *)ctx->tensor; }

// A block begins: its tensor memory is garbage, and nothing is allocated or to be done.
inline void reset_tensor_memory(Context *ctx) {
  TensorState &state = tensor_of(ctx);
  __builtin_memset(state.tensor_cells, 0xFF, sizeof(u32) * tensor_memory::LANES * tensor_memory::COLUMNS);
  __builtin_memset(state.owners, 0, sizeof state.owners);
  __builtin_memset(state.alloc_sites, 0, sizeof state.alloc_sites);
  __builtin_memset(state.dealloc_sites, 0, sizeof state.dealloc_sites);
  state.count = state.most_columns = state.relinquish_site = 0;
  state.load_count = state.issued = state.done = 0;
  if (!state.tensor_accesses) return;
  constexpr u32 CELLS = tensor_memory::LANES / tensor_memory::GROUP * tensor_memory::COLUMNS;
  for (u32 i = 0; i < CELLS; ++i) state.tensor_accesses[i].count = state.tensor_last[i] = 0;
  __builtin_memset(state.matrix_last, 0, ctx->smem_bytes / 16 * sizeof(u32));
}
