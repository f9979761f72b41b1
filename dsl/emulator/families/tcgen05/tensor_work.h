// What each operation of a tensor core needs, and what it does: tensor_products.cc, tensor_copies.cc.
#pragma once
#include "families/tcgen05/tensor_memory.h"

inline u32 what(const TensorOp &op) { return op.form & 3; }

// Whether an operation may be done, as it is issued; else a fault.
bool is_product_right(Context *ctx, const TensorOp &op);
bool is_copy_right(Context *ctx, const TensorOp &op);

void multiply(Context *ctx, const TensorOp &op);
void copy_in(Context *ctx, const TensorOp &op);
