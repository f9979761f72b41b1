// What a block's tensor core has to do: tcgen05.mma, cp, shift and commit, in the order in which they were issued.
// PTX ISA 9.7.16.6, 9.7.16.9, 9.7.16.10, 9.7.16.12.
//
// Each is looked at when it is issued, and done when a thread of the cluster looks at the mbarrier of a later commit.
// Hardware may do it earlier; doing it late makes a missing wait visible every time.
#include "families/mbarrier/word.h"
#include "families/tcgen05/tensor_work.h"
#include "machine/grid.h"

extern "C" u32 emu_note_2(Context *, u32 tid, u32 site, u64 address, u32 amount);

namespace {

using namespace tcgen05;
using namespace tensor_fault;

bool commits(const TensorOp &op) { return what(op) == COMMIT; }

// The ranks whose mbarrier a commit signals: the ones that its mask names, or else the one of its address.
template <class Signal> bool each_target(Context *ctx, const TensorOp &op, Signal signal) {
  const bool many = op.mask & MULTICAST;
  for (u32 rank : Bits{many ? op.mask & (MULTICAST - 1) : 1}) {
    const u64 inside = op.barrier & ((1 << RANK_SHIFT) - 1);
    const u64 place = many ? (u64)(rank + 1) << RANK_SHIFT | inside : op.barrier;
    const u64 address = cluster_place(ctx, op.site, op.thread, place, 8, 8);
    if (!address || !signal((u64 *)address)) return false;
  }
  return true;
}

bool is_commit_right(Context *ctx, const TensorOp &op) {
  return each_target(ctx, op, [&](u64 *word) {
    if (!emu_note_2(ctx, op.thread, op.site, (u64)word, 0)) return false;
    const u64 issued = op.site | (u64)op.number << 32;
    return !ctx->order_call || !ctx->order_call((u64)ctx, ORDER_TENSOR_COMMIT, op.thread, (u64)word, issued);
  });
}

bool signals(Context *ctx, const TensorOp &op, u64 barrier) {
  bool found = false;
  each_target(ctx, op, [&](const u64 *word) { return found |= (u64)word == barrier, true; });
  return found;
}

void arrive(Context *ctx, const TensorOp &op) {
  each_target(ctx, op, [&](u64 *word) {
    const bool ended = count_in(*word, 1, 0);
    tell_order(ctx, ORDER_TENSOR_ARRIVE, op.thread, (u64)word, op.number * 2ull | ended);
    return true;
  });
  emu_cluster_wake(ctx);
}

void perform(Context *ctx, const TensorOp &op) {
  if (op.form & PAIR && !peer_of(ctx)) return (void)illegal(ctx, op.thread, op.site, NO_PEER);  // it has ended since
  switch (what(op)) {
    case MMA: return multiply(ctx, op);
    case CP: return copy_in(ctx, op);
    case SHIFT: return shift_in(ctx, op);
    case COMMIT: return arrive(ctx, op);
  }
}

bool is_right(Context *ctx, const TensorOp &op) {
  const TensorState &state = tensor_of(ctx);
  if (what(op) != COMMIT && state.most_columns && state.group != (op.form & PAIR))
    return illegal(ctx, op.thread, op.site, OTHER_GROUP, state.group);
  if (op.form & PAIR && !peer_of(ctx)) return illegal(ctx, op.thread, op.site, NO_PEER);
  switch (what(op)) {
    case MMA: return is_product_right(ctx, op);
    case CP: return is_copy_right(ctx, op);
    case SHIFT: return is_shift_right(ctx, op);
    default: return is_commit_right(ctx, op);
  }
}

}  // namespace

extern "C" {

// A thread issues an operation: 1, or 0 and a fault.
u32 emu_tensor_issue(Context *ctx, u32 tid, u32 site, TensorOp *op) {
  TensorState &state = tensor_of(ctx);
  op->thread = tid, op->site = site, op->number = ++state.issued;
  if (!is_right(ctx, *op) || (state.tensor_accesses && !check_operation(ctx, *op))) return 0;
  add_entry(state, &TensorState::tensor_ops) = *op;
  emu_cluster_wake(ctx);
  return 1;
}

// A thread looks at an mbarrier, or at any (0): what the commits that signal it wait for happens. A checker still asks
// what was done.
void emu_tensor_look(Context *ctx, u64 barrier) {
  for (Context &slot : Mates{ctx}) {
    TensorState &state = tensor_of(&slot);
    u32 end = 0;
    for (u32 i = state.done; i < state.count; ++i)
      if (commits(state.tensor_ops[i]) && (!barrier || signals(&slot, state.tensor_ops[i], barrier))) end = i + 1;
    for (; state.done < end; ++state.done) perform(&slot, state.tensor_ops[state.done]);
    if (state.tensor_accesses) continue;
    state.count -= state.done;
    __builtin_memmove(state.tensor_ops, state.tensor_ops + state.done, state.count * sizeof(TensorOp));
    state.done = 0;
  }
}
}
