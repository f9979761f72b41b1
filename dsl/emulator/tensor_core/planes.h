// Products of matrices, as tensor cores make them for a warpgroup (wgmma) and from tensor memory (tcgen05.mma).
#pragma once
#include "tensor_core/tensor_core.h"

constexpr u32 ROW_BYTES = 32, LONG_ROW_BYTES = 48, MOST_ROWS = 128, MOST_COLUMNS = 256;

// A, or B transposed: rows of ROW_BYTES bytes, K fastest. `columns` if A is sparse: the column of each of its elements,
// row by row; then a row of B has twice as many bytes. A row of e2m1x2 may have LONG_ROW_BYTES: 96 elements.
struct Operand {
  const u8 *raw;
  u32 rows;
  Kind kind;
  bool negated;
  const u8 *columns = nullptr;
  bool is_long = false;
};

// D, in and out: a row for each of A, a column for each row of B (a multiple of eight). Floats, also those of f16,
// or i32. `pitch` is what is from a row to the next, in elements.
struct Matrix {
  float *values;
  u32 pitch;
};

// How the products and D are added.
struct Rule {
  u32 fraction_bits = 25;  // of floats: 25, or 13 of 8-bit floats
  bool is_half = false;    // the result is f16, otherwise f32 or s32
  bool saturates = false;  // of integers
  u32 shift = 0;           // D counts as D * 2 ** -shift
};

// D = A * B + D.
extern "C" void emu_multiply(const Operand &a, const Operand &b, const Matrix &d, const Rule &rule);

// Scales of blocks along K: of each row of A and of B `count` bytes.
struct Scales {
  const u8 *a, *b;
  u32 count;
  bool is_ue4m3;  // otherwise ue8m0
};

// The same of f32 D and scaled A and B: 32 products, one scale for all; or, of e2m1x2, 64 or 96 products in groups of
// 16.
extern "C" void emu_multiply_scaled(const Operand &a, const Operand &b, const Scales &scales, const Matrix &d);
