// Shared by all C++ files of the emulator.
#pragma once
#include <shared.h>

template <class T> constexpr T min(T a, T b) { return a < b ? a : b; }
template <class T> constexpr T max(T a, T b) { return a > b ? a : b; }

inline u32 first_bit(u32 bits) { return __builtin_ctz(bits); }
inline u32 count(u32 bits) { return __builtin_popcount(bits); }

// The positions of the set bits of a mask, lowest first: for (u32 lane : Bits{mask}).
struct Bits {
  u32 rest;
  Bits begin() const { return *this; }
  Bits end() const { return {0}; }
  u32 operator*() const { return first_bit(rest); }
  void operator++() { rest &= rest - 1; }
  bool operator!=(Bits other) const { return rest != other.rest; }
};

// The slots of a cluster, from one on: for (Context &slot : Mates{ctx}).
struct Mates {
  Context *first;
  struct Place {
    Context *at;
    const Context *first;
    bool over = false;
    Context &operator*() const { return *at; }
    void operator++() {
      at = at->mate;
      over = at == first;
    }
    bool operator!=(Place) const { return !over; }
  };
  Place begin() const { return {first, first}; }
  Place end() const { return {first, first}; }
};

// Whether the block of a slot has ended while others of its cluster run.
inline bool is_absent(const Context &slot) { return slot.absent >> (slot.cluster_rank + 1) & 1; }

// The warp of a thread, and its bit in the warp's masks.
struct Lane {
  u32 warp, bit;
  explicit Lane(u32 tid) : warp(tid >> 5), bit(1u << (tid & 31)) {}
};

extern "C" {
[[gnu::cold]] void emu_fault(Context *, u32 status, u32 site, u32 thread, u64 address, u64 access_bytes, u64 detail);
bool emu_range(Context *, u64 address, u64 size, u64 alignment, u32 kinds, u32 site, u32 thread);
u32 emu_take_signals(u64 address);
void emu_cluster_wake(Context *);
u32 emu_note_16(Context *, u32 tid, u32 site, u64 address, u32 amount);
}

Interval interval_at(const Context *, u64 address, u32 kinds);

// An illegal instruction of a thread; 0, which tells its code to stop.
inline u32 illegal(Context *ctx, u32 tid, u32 site, u64 detail, u64 value = 0, u64 size = 0) {
  emu_fault(ctx, ILLEGAL, site, tid, value, size, detail);
  return 0;
}

// In a launch that is checked for races: tell check/order.py.
inline void tell_order(Context *ctx, u32 what, u32 thread, u64 a, u64 b = 0) {
  if (ctx->order_call) ctx->order_call((u64)ctx, what, thread, a, b);
}
