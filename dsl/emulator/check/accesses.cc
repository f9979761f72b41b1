// The accesses of a launch that has ended, out of the cells of an allocation: runs of bytes, of each kind by itself.
#include "check/check.h"

extern "C" void *realloc(void *, size_t);

namespace {

constexpr u32 KINDS = 4;  // bits WRITE and STRONG

// The kind of an access as other launches see it: they are outside of the scope of its block and of its cluster.
u32 kind_of(const Kept &kept) {
  u32 kind = kept.kind();
  return kind & (CTA | NEAR) ? kind & WRITE : kind & (WRITE | STRONG);
}

const CellEntry &kept_entry(const Cell &cell, u32 i) {
  return i < INLINE ? cell.first[i] : cell.beyond->entries[i - INLINE];
}

void add(AccessRuns &runs, u32 kind, u64 lo, u64 hi, u32 site) {
  AccessRun *last = runs.count ? runs.runs + runs.last[kind] - 1 : nullptr;
  if (last && runs.last[kind] && last->hi == lo && last->site == site) {
    last->hi = hi;
    return;
  }
  if (runs.count == runs.room) {
    runs.room = runs.room ? 2 * runs.room : 64;
    runs.runs = (AccessRun *)realloc(runs.runs, runs.room * sizeof(AccessRun));
  }
  if (!runs.runs) __builtin_trap();
  runs.runs[runs.count++] = {lo, hi, site, kind};
  runs.last[kind] = runs.count;
}

}  // namespace

extern "C" {

// Add the accesses to `count` cells, of memory from an address on, to `runs`. The caller frees them.
void emu_access_runs(AccessRuns *runs, const Cell *cells, u64 count, u64 address, u32 shift) {
  for (u64 at = 0; at < count; ++at) {
    const Cell &cell = cells[at];
    u32 sites[KINDS], seen = 0;
    for (u32 i = 0; i < cell.count; ++i) {
      const Kept kept(kept_entry(cell, i));
      if (kept.block() == EARLIER_GRID) continue;
      u32 kind = kind_of(kept);
      if (!(seen >> kind & 1)) sites[kind] = kept.site();
      seen |= 1u << kind;
    }
    for (u32 kind = 0; kind < KINDS; ++kind)
      if (seen >> kind & 1) add(*runs, kind, address + (at << shift), address + ((at + 1) << shift), sites[kind]);
  }
}
}
