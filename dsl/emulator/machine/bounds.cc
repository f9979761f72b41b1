// Bounds and alignment of every memory access: a last-hit test inline, a binary search where it fails.
//
// The inline test is one subtract, one rotate, one compare: `rotr(address - lo, log2(n)) < limit`. `lo` is the
// n-aligned start of the allocation last hit by this instruction and `limit` the number of n-byte elements from there;
// a misaligned offset rotates its low bits to the top and fails too. PTX ISA 6.4.1, 6.4.2 (addresses, alignment).
#include "machine/emu.h"

// The interval of an allowed kind that holds an address, or an empty one.
Interval interval_at(const Context *ctx, u64 address, u32 kinds) {
  u64 low = 0, high = ctx->interval_count;
  while (low < high) {  // rows before `low` start at or below the address, rows from `high` on above it
    u64 middle = (low + high) / 2;
    if (ctx->intervals[middle].lo > address) high = middle;
    else low = middle + 1;
  }
  if (!low) return {};
  const Interval &row = ctx->intervals[low - 1];
  return row.kind & kinds && address < row.hi ? row : Interval{};
}

namespace {

// The part of the interval around an address that the inline test needs.
struct Elements {
  u64 lo, limit, size;
  u32 log2 = __builtin_ctzll(size) & 63;
  Elements(const Context *ctx, u64 address, u64 size, u32 kinds) : size(size) {
    Interval row = interval_at(ctx, address, kinds);
    lo = (row.lo + size - 1) & -size;
    limit = lo > row.hi ? 0 : (row.hi - lo) >> log2;
  }
  bool crooked(u64 address) const { return address & (size - 1); }
  bool outside(u64 address) const { return (address - lo) >> log2 >= limit; }
};

}  // namespace

extern "C" {

// Record the first fault of a launch.
[[gnu::noinline, gnu::cold]] void emu_fault(Context *ctx, u32 status, u32 site, u32 thread, u64 address,
                                            u64 access_bytes, u64 detail) {
  if (ctx->status) return;
  ctx->status = status, ctx->site = site, ctx->thread = thread;
  ctx->address = address, ctx->access_bytes = access_bytes, ctx->detail = detail;
}

// The numbers that the inline test of an access of `size` (a power of two) bytes needs; zeros and a fault if the access
// is bad.
[[gnu::noinline, gnu::cold]] LastHit emu_slow(Context *ctx, u64 address, u64 size, u32 kinds, u32 site, u32 thread) {
  const Elements found(ctx, address, size, kinds);
  bool crooked = found.crooked(address);
  if (!crooked && !found.outside(address)) return {found.lo, found.limit};
  emu_fault(ctx, crooked ? MISALIGNED : OUT_OF_BOUNDS, site, thread, address, size, 0);
  return {};
}

// Whether accesses of `size` (a power of two) bytes from `first` to `last` are in one interval. Then the site's last
// hit is that interval.
[[gnu::noinline, gnu::cold]] bool emu_fits(Context *ctx, u64 first, u64 last, u64 size, u32 kinds, u32 site) {
  const Elements found(ctx, first, size, kinds);
  for (u64 address : (u64[]){first, last})
    if (found.crooked(address) || found.outside(address)) return false;
  ctx->sites[site] = {found.lo, found.limit};
  return true;
}

// Whether `size` bytes at an address, aligned to `alignment`, are in one allocation; a fault if not.
bool emu_range(Context *ctx, u64 address, u64 size, u64 alignment, u32 kinds, u32 site, u32 thread) {
  bool crooked = address & (alignment - 1);
  u64 hi = interval_at(ctx, address, kinds).hi;
  if (!crooked && hi && hi - address >= size) return true;
  emu_fault(ctx, crooked ? MISALIGNED : OUT_OF_BOUNDS, site, thread, address, size, 0);
  return false;
}
}
