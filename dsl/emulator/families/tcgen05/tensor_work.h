// What each operation of a tensor core needs, what it touches, and what it does: tensor_products.cc,
// tensor_copies.cc, tensor_shifts.cc.
#pragma once
#include "families/tcgen05/tensor_memory.h"

inline u32 what(const TensorOp &op) { return op.form & 3; }

// Whether an operation may be done, as it is issued; else a fault.
bool is_product_right(Context *ctx, const TensorOp &op);
bool is_copy_right(Context *ctx, const TensorOp &op);
bool is_shift_right(Context *ctx, const TensorOp &op);

void multiply(Context *ctx, const TensorOp &op);
void copy_in(Context *ctx, const TensorOp &op);
void shift_in(Context *ctx, const TensorOp &op);
// Rows of 32 bytes on the lanes of a warp, from a place on.
void shift_lanes(const Context *block, TensorPlace first);

// Who hears of what an operation touches, until it answers false: 16 bytes of the shared memory of a block; columns of
// the 16 lanes of a group of a block's tensor memory.
struct Touches {
  virtual bool shared(Context *block, u32 offset) const = 0;
  virtual bool tensor(Context *block, u32 group, u32 column, u32 count, bool writes) const = 0;
};
bool touches_of_product(Context *ctx, const TensorOp &op, const Touches &touches);
bool touches_of_copy(Context *ctx, const TensorOp &op, const Touches &touches);
bool touches_of_shift(Context *ctx, const TensorOp &op, const Touches &touches);

// tensor_accesses.cc: in a launch that is checked for races. False, and a fault, where an operation races.
bool check_operation(Context *ctx, const TensorOp &op);
// The same of what a lane loads or stores: columns of the lanes of a group.
bool check_lane(Context *ctx, const TensorLoad &load);
// A load of what nobody has written at all: `first` and `second` are the parts of the first lanes of two groups.
bool check_load(Context *ctx, const TensorLoad &first, const TensorLoad &second);
// Columns are allocated: nothing is written there.
void forget_written(Context *ctx, u32 column, u32 count);
// What is freed.
bool check_free(Context *ctx, u32 tid, u32 site, u32 column, u32 count);
