// Tensor memory, and the shared memory that its tensor core reads, in a launch that is checked for races.
//
// A cell (check/race.cc) is for 16 lanes of a column. Accesses of a tensor core are complete when a thread has waited
// for a later commit. Loads and stores of a warp are complete at its wait::ld or wait::st, a load also where one of its
// registers is read. A cell keeps only the last incomplete operation that touches it: operations of one thread are done
// in order, so this is the one to wait for.
//
// PTX ISA 9.7.16.6 (the order of tcgen05), 9.7.16.8.5 (tcgen05.wait), 9.7.16.12 (tcgen05.commit).
#include "check/check.h"
#include "families/tcgen05/tensor_work.h"

extern "C" u32 emu_bulk_proxied(Context *, u32 tid, u32 site, u64 address, u32 size);

namespace {

using namespace tensor_memory;

u32 index_of(u32 group, u32 column) { return group * COLUMNS + column; }

// Whether no access to these columns of a group is a race. A fault names the address of the group's first lane.
bool check_columns(Context *ctx, u32 tid, u32 site, Context *block, u32 group, u32 column, u32 count, u32 kind) {
  if (ctx->site_lines[site] & site_line::SILENCED) return true;
  const u64 address = (u64)cells_of(block, group * GROUP, column);
  Cell *first = tensor_of(block).tensor_accesses + index_of(group, column);
  return check_cells(ctx, tid, site, first, count, address, sizeof(u32), kind);
}

// Whether the columns of a group are written, or else are from now on if `writes`; else a fault.
bool check_written(Context *ctx, u32 tid, u32 site, Context *block, u32 group, u32 column, u32 count, bool writes) {
  u8 *written = tensor_of(block).tensor_written;
  if (!written) return true;
  written += index_of(group, column);
  for (u32 i = 0; i < count; ++i) {
    if (!writes && !written[i]) {
      emu_fault(ctx, UNDEFINED, site, tid, (u64)cells_of(block, group * GROUP, column + i), 4,
                tensor_fault::NEVER_WRITTEN);
      return false;
    }
    written[i] |= writes;
  }
  return true;
}

// An operation is issued.
struct Check final : Touches {
  Context *ctx;
  const TensorOp &op;
  Check(Context *ctx, const TensorOp &op) : ctx(ctx), op(op) {}

  bool shared(Context *block, u32 offset) const override {
    const u64 address = (u64)block->smem + offset;
    tensor_of(block).matrix_last[offset / CHUNK_BYTES] = op.number;
    return emu_race(ctx, op.thread, op.site, address, CHUNK_BYTES, ASYNC) &&
           emu_bulk_proxied(ctx, op.thread, op.site, address, CHUNK_BYTES);
  }

  bool tensor(Context *block, u32 group, u32 column, u32 count, bool writes) const override {
    u32 *last = tensor_of(block).tensor_last + index_of(group, column);
    for (u32 i = 0; i < count; ++i) last[i] = op.number;
    const u32 kind = ASYNC | QUEUED | (writes ? WRITE : 0);
    auto are_written = [&](bool from_now) {
      return check_written(ctx, op.thread, op.site, block, group, column, count, from_now);
    };
    if ((!writes || op.accumulates) && !are_written(false)) return false;
    return (!writes || are_written(true)) && check_columns(ctx, op.thread, op.site, block, group, column, count, kind);
  }
};

// An operation was waited for: the accesses that no later one has made again are of a stretch of its thread.
struct Land final : Touches {
  Context *ctx;
  const TensorOp &op;
  u32 label;
  Land(Context *ctx, const TensorOp &op, u32 label) : ctx(ctx), op(op), label(label) {}

  bool shared(Context *block, u32 offset) const override {
    if (tensor_of(block).matrix_last[offset / CHUNK_BYTES] == op.number)
      emu_race_landed_at(ctx, op.thread, (u64)block->smem + offset, CHUNK_BYTES, label);
    return true;
  }

  bool tensor(Context *block, u32 group, u32 column, u32 count, bool) const override {
    const TensorState &state = tensor_of(block);
    const u32 first = index_of(group, column);
    for (u32 i = first; i < first + count; ++i)
      if (state.tensor_last[i] == op.number) land_cells(ctx, state.tensor_accesses + i, 1, op.thread, label);
    return true;
  }
};

bool each_touch(Context *ctx, const TensorOp &op, const Touches &touches) {
  switch (what(op)) {
    case tcgen05::MMA: return touches_of_product(ctx, op, touches);
    case tcgen05::CP: return touches_of_copy(ctx, op, touches);
    case tcgen05::SHIFT: return touches_of_shift(ctx, op, touches);
    default: return true;
  }
}

// Drop the rows of a list for which `ends` is true; the others stay. How many there are.
template <class Row, class Ends> u32 sweep(Row *rows, u32 count, Ends ends) {
  u32 kept = 0;
  for (u32 i = 0; i < count; ++i)
    if (!ends(rows[i])) rows[kept++] = rows[i];
  return kept;
}

}  // namespace

bool check_operation(Context *ctx, const TensorOp &op) { return each_touch(ctx, op, Check(ctx, op)); }

bool check_lane(Context *ctx, const TensorLoad &load) {
  const u32 kind = ASYNC | (load.stores ? WRITE : 0);
  if (load.stores) check_written(ctx, load.thread, load.site, ctx, load.group, load.column, load.count, true);
  add_entry(tensor_of(ctx), &TensorState::tensor_loads, &TensorState::load_count, &TensorState::load_room) = load;
  return check_columns(ctx, load.thread, load.site, ctx, load.group, load.column, load.count, kind);
}

bool check_load(Context *ctx, const TensorLoad &first, const TensorLoad &second) {
  const u8 *written = tensor_of(ctx).tensor_written;
  for (u32 i = 0; written && i < first.count; ++i)
    if (written[index_of(first.group, first.column) + i] || written[index_of(second.group, second.column) + i])
      return true;
  return check_written(ctx, first.thread, first.site, ctx, first.group, first.column, 1, false);
}

void forget_written(Context *ctx, u32 column, u32 count) {
  for (u32 group = 0; tensor_of(ctx).tensor_written && group < LANES / GROUP; ++group)
    __builtin_memset(tensor_of(ctx).tensor_written + index_of(group, column), 0, count);
}

bool check_free(Context *ctx, u32 tid, u32 site, u32 column, u32 count) {
  for (u32 group = 0; group < LANES / GROUP; ++group)
    if (!check_columns(ctx, tid, site, ctx, group, column, count, WRITE)) return false;
  return true;
}

extern "C" {

// A thread waited for the operations up to a number of another one: they are accesses of a stretch of its code.
void emu_tensor_landed(Context *ctx, u32 tid, u32 number, u32 label) {
  TensorState &state = tensor_of(ctx);
  u32 dropped = 0;
  state.count = sweep(state.tensor_ops, state.count, [&](const TensorOp &op) {
    if (op.thread != tid || op.number > number) return false;
    each_touch(ctx, op, Land(ctx, op, label));
    return ++dropped, true;
  });
  state.done -= dropped;
}

// A thread's loads or stores are complete: all of the kind, or those of one line of the PTX.
void emu_tensor_waited(Context *ctx, u32 tid, u32 stores, u32 line) {
  TensorState &state = tensor_of(ctx);
  state.load_count = sweep(state.tensor_loads, state.load_count, [&](const TensorLoad &load) {
    if (load.thread != tid || load.stores != stores || (line && load.line != line)) return false;
    Cell *first = state.tensor_accesses + index_of(load.group, load.column);
    land_cells(ctx, first, load.count, tid, label_of(ctx, tid));
    return true;
  });
}
}
