// Shared by the loop over blocks, the loop over clusters and the scheduler of a block.
#pragma once
#include "machine/emu.h"

using RunBlock = void (*)(Context *);

// The most rounds that a block of a seeded launch runs while others could; a bit mask.
constexpr u32 SEEDED_PATIENCE = 7;
// After so many looks at mbarriers that nobody has reached, who waits there waits for ever.
constexpr u32 MBARRIER_LOOKS = 512;
constexpr u32 STUCK = 1u << 31;  // a bit of `idle`: no thread of the block can go on

// blocks.cc
i64 take(Context *ctx);
bool begin(Context *ctx, u64 block);
void blame(Context *ctx);
bool is_halted(const Context *ctx);
Context *other(Context *ctx, Context *worker);
bool is_cluster_over(Context *ctx);

// clusters.cc: the host address of `size` bytes at an address in shared::cluster, aligned to `alignment`; 0 and a fault
// where they are not all there.
u64 cluster_place(Context *ctx, u32 site, u32 tid, u64 address, u64 size, u64 alignment);

extern "C" void emu_tensor_exit(Context *ctx);

// The threads of a block have ended: checkers and families look at what it leaves.
inline void ended(Context *slot) {
  tell_order(slot, ORDER_EXIT, 0, 0);
  if (slot->tensor && !slot->status) emu_tensor_exit(slot);
}

// Functions that the scheduler calls: threads.cc, warp_collectives.cc, barriers.cc
void begin_threads(Context *ctx);
bool resolve_warp(Context *ctx, u32 warp);
bool resolve_barriers(Context *ctx);
