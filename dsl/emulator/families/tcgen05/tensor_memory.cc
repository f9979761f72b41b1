// tcgen05.alloc, dealloc, relinquish_alloc_permit, ld and st: what the lanes of a warp do together to tensor memory.
// PTX ISA 9.7.16.7 and 9.7.16.8.
//
// An alloc gets the first columns that are free. The columns of a multiprocessor belong to one block here, so what an
// alloc waits for could only be another warp of its block.
#include "families/tcgen05/tensor_work.h"

namespace {

using namespace tensor_access;
using namespace tensor_fault;
using namespace tensor_memory;

constexpr u32 WARP = 32, QUARTER = 32;

TensorArea &area_of(Context *ctx, u32 thread) { return *(TensorArea *)ctx->a[thread]; }

// A warp at an instruction.
struct Warp {
  Context *ctx;
  u32 base, site = ctx->wait_site[base];
  TensorState &state = tensor_of(ctx);
  const TensorArea &first = area_of(ctx, base);

  bool fault(u64 detail, u64 value = 0, u64 more = 0) const { return illegal(ctx, base, site, detail, value, more); }

  // Whether all lanes have the same address and the same number of columns; else a fault. Where `by_lane`, each may
  // have the address of its own lane: kernels of NVIDIA do so, and the first lane's counts.
  bool is_uniform(bool by_lane = false) const {
    for (u32 lane = 0; lane < WARP; ++lane) {
      const TensorArea &area = area_of(ctx, base + lane);
      const u32 more = area.address - first.address;
      const bool same = more == 0 || (by_lane && more == lane << LANE_SHIFT);
      if (same && area.columns == first.columns) continue;
      return illegal(ctx, base + lane, site, DIFFERS, same);
    }
    return true;
  }

  // The address that it gave, of its own quarter: one of the first quarter counts as such, as examples of NVIDIA's
  // compiler have it.
  TensorPlace own(u32 quarter) const {
    const TensorPlace given{first.address};
    return {first.address + (given.lane() < QUARTER ? quarter << LANE_SHIFT : 0)};
  }

  void give(u32 address) const {
    for (u32 tid = base; tid < base + WARP; ++tid) area_of(ctx, tid).address = address;
  }
};

bool is_power_of_columns(u32 n) { return n >= UNIT && n <= COLUMNS && !(n & (n - 1)); }

// An operation, of this block or of the other one of its pair, that is to be done in the tensor memory of a block.
const TensorOp *left_in(Context *ctx) {
  for (const Context &slot : Mates{ctx}) {
    const TensorState &state = tensor_of(&slot);
    for (u32 i = state.done; i < state.count; ++i) {
      const TensorOp &op = state.tensor_ops[i];
      const bool reaches = &slot == ctx || (op.form & tcgen05::PAIR && (slot.cluster_rank ^ 1) == ctx->cluster_rank);
      if (reaches && what(op) != tcgen05::COMMIT) return &op;
    }
  }
  return nullptr;
}

// The first of `units` free units; UNITS where there are not so many side by side.
u32 room_for(const TensorState &state, u32 units) {
  for (u32 first = 0, free = 0; first + free < UNITS;)
    if (state.owners[first + free]) first += free + 1, free = 0;
    else if (++free == units) return first;
  return UNITS;
}

u32 free_columns(const TensorState &state) {
  u32 n = 0;
  for (u32 owner : state.owners) n += owner ? 0 : UNIT;
  return n;
}

// Which register of which lane holds which cell, relative to the address: PTX ISA 9.7.16.2.3.
struct Shape {
  u32 kind, half;
  u32 row(u32 lane, u32 r) const {
    switch (kind) {
      case S_32X32B: return lane;
      case S_16X64B: return lane / 4 + 8 * (lane % 2);
      case S_16X128B: return lane / 4 + 8 * (r % 2);
      case S_16X256B: return lane / 4 + 8 * (r / 2 % 2);
      default: return lane % 16;
    }
  }
  u32 column(u32 lane, u32 r) const {
    switch (kind) {
      case S_32X32B: return r;
      case S_16X64B: return lane / 2 % 2 + 2 * r;
      case S_16X128B: return lane % 4 + 4 * (r / 2);
      case S_16X256B: return 2 * (lane % 4) + r % 2 + 8 * (r / 4);
      default: return r + (lane < 16 ? 0 : half);
    }
  }
  u32 rows() const { return kind == S_32X32B ? 32 : 16; }
};

// Tell the checkers of what each lane of a warp touches: of shapes with 16 rows the columns of all lanes.
bool check_lanes(const Warp &warp, const Shape &shape, TensorPlace place, u32 count, u32 step, bool stores) {
  const bool halves = shape.kind == S_16X32BX2;
  const u32 width = step * (halves ? count : shape.column(WARP - 1, count - 1) + 1);
  auto part = [&](u32 lane) -> TensorLoad {
    const u32 group = (place.lane() + (shape.rows() == 32 ? lane : 0)) / GROUP;
    const u32 column = place.column() + (halves && lane >= 16 ? step * shape.half : 0);
    return {warp.base + lane, warp.site, warp.first.line, stores, group, column, width};
  };
  if (!stores && !check_load(warp.ctx, part(0), part(GROUP))) return false;
  for (u32 lane = 0; lane < WARP; ++lane)
    if (!check_lane(warp.ctx, part(lane))) return false;
  return true;
}

// `move(word, cell, packs)` for each register of each lane; where `packs`, a register holds the low halves of two
// cells. Where the warp may not touch all of them, it faults and moves nothing.
template <class Move> void each_word(Context *ctx, u32 base, bool stores, Move move) {
  const Warp warp{ctx, base};
  if (!warp.is_uniform(true)) return;
  const u32 form = warp.first.form, count = form >> COUNT_SHIFT;
  const bool packs = form & PACKS;
  const Shape shape{form & (PACKS - 1), warp.first.columns};
  const u32 quarter = base / WARP % 4 * QUARTER;
  const TensorPlace place = warp.own(quarter);
  const u32 inside = place.lane() - quarter;
  if (inside >= QUARTER || inside + shape.rows() > QUARTER) {
    warp.fault(OTHER_QUARTER, warp.first.address, quarter);
    return;
  }
  if (inside % shape.rows()) {
    warp.fault(HALF_QUARTER, warp.first.address);
    return;
  }
  const u32 step = packs ? 2 : 1;
  const u32 width = step * (shape.column(WARP - 1, count - 1) + 1);
  u32 foreign = foreign_column(warp.state, place.column(), shape.kind == S_16X32BX2 ? step * count : width);
  if (foreign == NO_COLUMN && shape.kind == S_16X32BX2)
    foreign = foreign_column(warp.state, place.column() + step * shape.half, step * count);
  if (foreign != NO_COLUMN) {
    warp.fault(NOT_ALLOCATED, warp.first.address, foreign);
    return;
  }
  if (warp.state.tensor_accesses && !check_lanes(warp, shape, place, count, step, stores)) return;
  for (u32 lane = 0; lane < WARP; ++lane) {
    u32 *words = area_of(ctx, base + lane).words;
    for (u32 r = 0; r < count; ++r) {
      u32 *cell = cells_of(ctx, place.lane() + shape.row(lane, r), place.column() + step * shape.column(lane, r));
      move(words[r], cell, packs);
    }
  }
}

}  // namespace

extern "C" {

void emu_tensor_alloc(Context *ctx, u32 base) {
  const Warp warp{ctx, base};
  TensorState &state = warp.state;
  const u32 n = warp.first.columns;
  if (!warp.is_uniform()) return;
  if (!is_power_of_columns(n)) return (void)warp.fault(BAD_COLUMNS, n);
  if (state.relinquish_site) return (void)warp.fault(RELINQUISHED, state.relinquish_site - 1);
  if (state.most_columns && n > state.most_columns) return (void)warp.fault(MORE_COLUMNS, n, state.most_columns);
  const u32 first = room_for(state, n / UNIT);
  if (first == UNITS) return (void)warp.fault(NO_COLUMNS, n, free_columns(state));
  state.most_columns = n, state.group = warp.first.form;
  for (u32 unit = first; unit < first + n / UNIT; ++unit) {
    state.owners[unit] = first * UNIT + 1;
    state.alloc_sites[unit] = warp.site + 1;
  }
  forget_written(ctx, first * UNIT, n);
  warp.give(first * UNIT);
}

void emu_tensor_dealloc(Context *ctx, u32 base) {
  const Warp warp{ctx, base};
  TensorState &state = warp.state;
  const u32 address = warp.first.address, n = warp.first.columns;
  if (!warp.is_uniform()) return;
  if (!is_power_of_columns(n)) return (void)warp.fault(BAD_COLUMNS, n);
  const u32 foreign = foreign_column(state, address, n);
  if (foreign != NO_COLUMN) return (void)warp.fault(NOT_ALLOCATED, address, foreign);
  u32 size = 0;
  for (u32 owner : state.owners) size += owner == address + 1 ? UNIT : 0;
  if (size != n) return (void)warp.fault(NOT_ITS_ALLOCATION, address, size);
  if (const TensorOp *op = left_in(ctx)) return (void)warp.fault(STILL_USED, op->site, address);
  if (state.tensor_accesses && !check_free(ctx, base, warp.site, address, n)) return;
  for (u32 unit = address / UNIT; unit < (address + n) / UNIT; ++unit) {
    state.owners[unit] = 0;
    state.dealloc_sites[unit] = warp.site + 1;
  }
}

// A block has ended: it must have freed what it allocated.
void emu_tensor_exit(Context *ctx) {
  const TensorState &state = tensor_of(ctx);
  for (u32 unit = 0; unit < UNITS; ++unit) {
    if (!state.owners[unit]) continue;
    u32 n = 0;
    for (u32 owner : state.owners) n += owner == state.owners[unit] ? UNIT : 0;
    illegal(ctx, 0, state.alloc_sites[unit] - 1, NOT_FREED, n);
    return;
  }
}

void emu_tensor_relinquish(Context *ctx, u32 base) { tensor_of(ctx).relinquish_site = ctx->wait_site[base] + 1; }

void emu_tensor_ld(Context *ctx, u32 base) {
  each_word(ctx, base, false,
            [](u32 &word, const u32 *cell, bool packs) { word = packs ? (cell[0] & 0xFFFF) | cell[1] << 16 : *cell; });
}

void emu_tensor_st(Context *ctx, u32 base) {
  each_word(ctx, base, true, [](u32 word, u32 *cell, bool packs) {
    cell[0] = packs ? word & 0xFFFF : word;
    if (packs) cell[1] = word >> 16;
  });
}
}
