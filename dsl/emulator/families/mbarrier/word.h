// The 64 bits of an mbarrier: families/mbarrier/emit.py defines them.
#pragma once
#include "machine/emu.h"

// Count arrivals and bytes that have come; whether the phase has ended with them.
inline bool count_in(u64 &word, u32 arrivals, u64 size) {
  constexpr u64 FEW = (1 << 20) - 1, BYTES = ((1ull << 21) - 1) << 40;
  u64 pending = (word - arrivals) & FEW, left = ((word & BYTES) - (size << 40)) & BYTES;
  bool ended = !(left | pending);
  word = (word & ~(BYTES | FEW)) | left | pending;
  if (ended) word = (word | (word >> 20 & FEW)) ^ 1ull << 63;
  return ended;
}
