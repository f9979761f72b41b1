// The random numbers of a launch with a seed.
#pragma once
#include "machine/emu.h"

// Whether the next decision of a list counts.
[[gnu::always_inline]] inline bool next_counts(DecisionList *listed) {
  const u8 *counts = (u8 *)(listed + 1);
  u64 number = listed->taken++;
  return number < listed->limit && counts[number];
}

// The next of a slot's random numbers (Marsaglia's xorshift); 0 of a launch without a seed, and where a list of
// decisions leaves this one out.
[[gnu::always_inline]] inline u32 random(Context *ctx) {
  u32 x = ctx->order;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  ctx->order = x;
  DecisionList *listed = (DecisionList *)ctx->decisions;
  if (!listed) return x;
  return !listed->pauses && next_counts(listed) ? x : 0;
}

// Whether a warp whose turn it is pauses: until nothing else in its block, and no other block, moves.
[[gnu::always_inline]] inline bool pauses(Context *ctx) {
  DecisionList *listed = (DecisionList *)ctx->decisions;
  return listed && listed->pauses && next_counts(listed);
}
