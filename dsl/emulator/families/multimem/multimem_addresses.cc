// Multimem addresses: the memory of each is at another address, at a distance that its interval has. PTX ISA 8.2.3.
#include "machine/emu.h"

// The address of the `size` (a power of two) bytes of memory of a multimem address; 0 after a fault.
extern "C" u64 emu_multimem(Context *ctx, u64 address, u64 size, u32 site, u32 tid) {
  const Interval row = interval_at(ctx, address, MULTIMEM);
  if (!row.hi) return illegal(ctx, tid, site, NOT_MULTIMEM, address, size);
  if (!emu_range(ctx, address, size, size, MULTIMEM, site, tid)) return 0;
  return address + (u64)((i64)row.kind >> DISTANCE_SHIFT);
}
