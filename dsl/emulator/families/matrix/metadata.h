// The metadata of a sparse A: the column of each of its elements. PTX ISA 9.7.14.6.1.
#pragma once
#include "tensor_core/tensor_core.h"

// The columns that the metadata of a lane tell for rows of its group: `put(row, index, column)` for each of the
// `terms` elements that a row has, of `bits` bits each. Of 16 bits and tf32 half a word is a row's part, of the others
// a word. A part has the place of each element, in two bits of four columns; of tf32 in four bits of two columns, of 4
// bits for two neighbours of eight columns.
template <int bits, int terms, class Put> void place(u32 lane, u32 metadata, u32 selector, Put put) {
  constexpr bool halves = bits >= 16, is_tf32 = bits == 32;
  constexpr int each = is_tf32 ? 4 : 2, run = bits == 4 ? 2 : 1;  // bits of a place, elements of it
  constexpr int count = (halves ? 16 : 32) / each, lanes = terms / run / count * (halves ? 1 : 2);
  u32 group = lane / 4, thread = lane % 4;
  if (thread / lanes != selector) return;
  for (u32 half = 0; half < (halves ? 2 : 1); ++half) {
    u32 row = group + 8 * (halves ? half : thread % 2);
    u32 part = thread % lanes / (halves ? 1 : 2);
    for (int i = 0; i < count; ++i) {
      u32 place = metadata >> (16 * half + each * i), first = part * count + i;
      u32 column = is_tf32 ? 2 * first + (place >> 1 & 1) : (4 * (first / 2) + (place & 3)) * run;
      for (int e = 0; e < run; ++e) put(row, first * run + e, column + e);
    }
  }
}
