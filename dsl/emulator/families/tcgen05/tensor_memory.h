// The tensor memory of a block, and the queue of what its tensor core has to do. PTX ISA 9.7.16.1.
#pragma once
#include "machine/queues.h"

constexpr u32 CHUNK_BYTES = 16;  // of shared memory, as a tensor core reads it

// An address in tensor memory.
struct TensorPlace {
  u32 bits;
  u32 lane() const { return bits >> tensor_memory::LANE_SHIFT; }
  u32 column() const { return bits & ((1 << tensor_memory::LANE_SHIFT) - 1); }
};

inline u32 *cells_of(const Context *ctx, u32 lane, u32 column) {
  return tensor_of(ctx).tensor_cells + lane * tensor_memory::COLUMNS + column;
}

// The first of some columns that is not allocated, or NO_COLUMN.
constexpr u32 NO_COLUMN = ~0u;
inline u32 foreign_column(const TensorState &state, u32 first, u32 count) {
  using namespace tensor_memory;
  for (u32 column = first; column < first + count; column = (column / UNIT + 1) * UNIT)
    if (column >= COLUMNS || !state.owners[column / UNIT]) return column;
  return NO_COLUMN;
}

// The block of the same pair of a cluster: that whose rank differs in bit 0. Null where there is none.
inline Context *peer_of(Context *ctx) {
  for (Context &slot : Mates{ctx})
    if (slot.cluster_rank == (ctx->cluster_rank ^ 1)) return is_absent(slot) ? nullptr : &slot;
  return nullptr;
}
