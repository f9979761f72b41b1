// Shared by the files of the checkers: they find here what is kept of memory. See shadow.cc and race.cc.
#pragma once
#include "machine/emu.h"

using namespace access;

extern "C" {
[[gnu::cold]] void emu_near(Context *, u64 address);
u32 emu_order(Context *, u32 what, u32 tid, u64 a, u64 b);
u32 emu_race(Context *, u32 tid, u32 site, u64 address, u32 size, u32 kind);
u32 emu_bulk_touches(Context *, u32 tid, u32 site, u64 address, u32 size, u32 kind);
u32 emu_matrix_written(Context *, u32 tid, u32 site, u64 address, u32 size);
u32 emu_no_mbarrier(Context *, u32 tid, u32 site, u64 address, u32 size);
void emu_race_landed(Context *, u32 tid, u64 address, u32 size);
u32 emu_copies_alike(Context *, u32 tid, u32 other_tid, u64 address, u32 size);
void emu_written_out(Context *, u64 address, u64 size);
void emu_unwritten_again(Context *, u64 address, u64 size);
void emu_race_landed_at(Context *, u32 tid, u64 address, u32 size, u32 label);
}

bool check_access(Context *, u32 tid, u32 site, u64 address, u32 size, u32 kind);
bool check_cells(Context *, u32 tid, u32 site, Cell *first, u32 cells, u64 address, u32 step, u32 kind);
void land_cells(Context *, Cell *first, u32 cells, u32 tid, u32 label);
[[gnu::always_inline]] inline void keep_in_trail(Context *ctx, u32 tid, u32 site, u64 value);

// The slot of the cluster in whose shared memory an address is, or null.
[[gnu::always_inline]] inline Context *owner_of(Context *ctx, u64 address) {
  for (Context &slot : Mates{ctx})
    if (address - (u64)slot.smem < slot.smem_bytes) return &slot;
  return nullptr;
}

// Whether a block runs in the cluster now.
inline bool is_mate(Context *ctx, u64 block) {
  for (Context &slot : Mates{ctx})
    if (slot.block == block) return true;
  return false;
}

// Whether a block is in the cluster of this one, by the shape of the launch: also where no block looks at another's
// memory, and each runs alone.
inline bool is_near(const Context *ctx, u64 block) {
  u64 mine = ctx->block;
  for (u32 axis = 0; axis < 3; ++axis) {
    u64 size = axis < 2 ? ctx->grid[axis] : ~0ull;
    if (block % size / ctx->cluster[axis] != mine % size / ctx->cluster[axis]) return false;
    block /= size, mine /= size;
  }
  return true;
}

// The stretch of its code, between two meetings, that a thread is in.
[[gnu::always_inline]] inline u32 label_of(const Context *ctx, u32 tid) { return max(ctx->labels[tid], ctx->epoch); }

// The offset of an address outside of shared memory in the allocation that holds it, which `near_lo` and so on are of.
[[gnu::always_inline]] inline u64 near_offset(Context *ctx, u64 address) {
  if (address - ctx->near_lo >= ctx->near_bytes) emu_near(ctx, address);
  return address - ctx->near_lo;
}

// Append a row to the thread's trail. A repeated row, such as a wait that polls, is kept once.
[[gnu::always_inline]] inline void keep_in_trail(Context *ctx, u32 tid, u32 site, u64 value) {
  if (!ctx->trail) return;
  Trail &trail = ctx->trail[tid];
  constexpr u32 ROWS = sizeof Trail::rows / sizeof(TrailRow);
  const TrailRow &last = trail.rows[(trail.count - 1) % ROWS];
  if (last.site == site && last.value == value && last.rounds == trail.rounds) return;
  trail.rows[trail.count++ % ROWS] = {site, trail.rounds, label_of(ctx, tid), value};
}

// ** cells

constexpr u32 INLINE = sizeof Cell::first / sizeof(CellEntry), MOST = 64;  // entries: in the cell itself, and in all

// The entries of one cell beyond its first; the chunks of a slot are a list.
struct alignas(64) Chunk {
  Chunk *next;
  u64 unused;
  CellEntry entries[MOST - INLINE];
};
static_assert(sizeof(Chunk) == 1024);

// The cell of an address in the shared memory of `owner`, or, where that is null, of one elsewhere; null: it has none.
[[gnu::always_inline]] inline Cell *cell_of(Context *ctx, u64 address, const Context *owner) {
  if (owner) return owner->smem_cells + ((address - (u64)owner->smem) >> ctx->race_shift);
  u64 offset = near_offset(ctx, address);
  return ctx->near_cells ? ctx->near_cells + (offset >> ctx->race_shift) : nullptr;
}

inline Cell *cell_of(Context *ctx, u64 address) { return cell_of(ctx, address, owner_of(ctx, address)); }

CellEntry *entry_beyond(Context *ctx, Cell *cell, u32 i);

// An entry of a cell; room for it is made.
[[gnu::always_inline]] inline CellEntry *entry_of(Context *ctx, Cell *cell, u32 i) {
  return i < INLINE ? &cell->first[i] : entry_beyond(ctx, cell, i);
}

// `place_kind_site` of an entry: warp (5 bits), block (31), kind (5), site (23).
constexpr u32 KIND_SHIFT = 36, SITE_SHIFT = 41, KIND_MASK = 31;
constexpr u64 PLACE_MASK = (1ull << KIND_SHIFT) - 1;

// An entry, as it was when it was looked at.
struct Kept {
  u64 meta;
  u32 label, lanes;
  explicit Kept(const CellEntry &entry) : meta(entry.place_kind_site), label(entry.label), lanes(entry.lanes) {}
  u64 place() const { return meta & PLACE_MASK; }
  u64 block() const { return place() >> 5; }
  u32 warp() const { return meta & 31; }
  u32 kind() const { return meta >> KIND_SHIFT & KIND_MASK; }
  u32 site() const { return meta >> SITE_SHIFT; }
  u32 thread(u32 lane) const { return 32 * warp() + lane; }
  u64 label_and_lanes(u32 some) const { return (u64)label << 32 | some; }
};

// Writes the other access of a race into the finding.
inline void tell_other(Context *ctx, const Kept &other, u32 lane, u32 mark = 0) {
  ctx->other_block = other.block();
  ctx->other_thread = other.thread(lane);
  ctx->other_site = other.site();
  ctx->other_kind = other.kind() | mark;
  ctx->other_label = other.label;
}

// A read of a thread at a site.
struct Reading {
  Context *ctx;
  u32 tid, site;
  u64 address;
  u32 size;

  // A race with what a lane wrote; `mark` is set in its kind. False.
  bool report(const Kept &write, u32 lane, u32 mark, u32 kind = ASYNC) const {
    tell_other(ctx, write, lane, mark);
    emu_fault(ctx, RACE, site, tid, address, size, kind);
    return false;
  }

  // Whether `look` is content with each write to the bytes, whose first cell is `first`; null: nothing is kept of them.
  template <class Look> bool each_write(Cell *first, Look look) const {
    for (u32 i = 0; first && i < size >> ctx->race_shift; ++i)
      for (u32 number = 0, count = first[i].count; number < count; ++number) {
        const Kept write(*entry_of(ctx, first + i, number));
        if (write.kind() & WRITE && !look(write)) return false;
      }
    return true;
  }
};
