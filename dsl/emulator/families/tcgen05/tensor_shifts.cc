// tcgen05.shift, and what `.ashift` of a tcgen05.mma does with A. PTX ISA 9.7.16.9.3, 9.7.16.10.9.1.
//
// Each lane gets the 32 bytes of the lane after it; the last lane keeps its own. A shift moves the lanes of one warp. A
// product with `.ashift` reads A as it was, and then shifts it for each warp: so NVIDIA's example
// 1cta_mma_a_from_tmem.py observed it on a B200.
#include "families/tcgen05/tensor_work.h"

namespace {

using namespace tensor_fault;

constexpr u32 WARP = 32, COLUMNS = 8;

template <class Take> bool each_block(Context *ctx, const TensorOp &op, Take take) {
  return take(ctx) && (!(op.form & tcgen05::PAIR) || take(peer_of(ctx)));
}

}  // namespace

bool is_shift_right(Context *ctx, const TensorOp &op) {
  const TensorPlace place{op.d};
  auto fault = [&](u64 detail, u64 more) { return illegal(ctx, op.thread, op.site, detail, op.d, more); };
  if (place.lane() % WARP || place.lane() >= tensor_memory::LANES) return fault(LANE_OF_SHIFT, 0);
  return each_block(ctx, op, [&](Context *block) {
    const u32 foreign = foreign_column(tensor_of(block), place.column(), COLUMNS);
    return foreign == NO_COLUMN || fault(NOT_ALLOCATED, foreign);
  });
}

void shift_lanes(const Context *block, TensorPlace first) {
  for (u32 lane = first.lane(); lane < first.lane() + WARP - 1; ++lane)
    __builtin_memcpy(cells_of(block, lane, first.column()), cells_of(block, lane + 1, first.column()), 4 * COLUMNS);
}

void shift_in(Context *ctx, const TensorOp &op) {
  ctx->seen |= SEEN_UNMEASURED;
  each_block(ctx, op, [&](const Context *block) { return shift_lanes(block, {op.d}), true; });
}

bool touches_of_shift(Context *ctx, const TensorOp &op, const Touches &touches) {
  const TensorPlace place{op.d};
  const u32 first = place.lane() / tensor_memory::GROUP;
  return each_block(ctx, op, [&](Context *block) {
    for (u32 group = first; group < first + WARP / tensor_memory::GROUP; ++group)
      if (!touches.tensor(block, group, place.column(), COLUMNS, false) ||
          !touches.tensor(block, group, place.column(), COLUMNS, true))
        return false;
    return true;
  });
}
