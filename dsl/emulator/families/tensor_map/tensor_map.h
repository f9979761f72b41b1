// The 128 bytes that describe a tensor, as cuTensorMapEncodeTiled makes them. See tensor_map.py.
#pragma once
#include "machine/emu.h"

using tensor_map::DIMENSIONS;

struct [[gnu::packed]] TensorMap {
  u64 address;
  u32 flags;
  u32 strides[4];  // of dimensions 1 and up, in 16 bytes
  u32 own;
  u32 last[DIMENSIONS];  // extents less one
  u8 steps[3];           // 3 bits a dimension
  union {
    u8 box[DIMENSIONS];  // extents less one
    struct [[gnu::packed]] {
      u8 channels;
      u32 corners;
    } im2col;
  };
  u32 last_pixel;

  u32 type() const { return flags >> 7 & 15; }
  u32 last_dimension() const { return flags >> 4 & 7; }
  i64 rank() const { return last_dimension() + 1; }
  u32 mode() const { return flags & 15; }
  bool is_im2col() const { return mode() >= tensor_map::IM2COL; }
  bool is_wide() const { return mode() > tensor_map::IM2COL; }  // its pixels are along W alone
  bool is_tf32() const { return flags >> 16 & 1; }
  u32 swizzle() const { return flags >> 13 & 7; }
  bool fills() const { return own >> tensor_map::FILL_SHIFT & 1; }
  bool is_padded() const { return type() > tensor_map::PACKED_U4; }
  i64 element_bits() const {
    if (type() >= tensor_map::PACKED_U4) return type() == tensor_map::PADDED_U6 ? 6 : 4;
    return 8ll << (tensor_map::LOG2_BYTES >> 2 * type() & 3);
  }
  // In global memory, of elements that follow one another; and what fills 16 bytes of shared memory.
  i64 bytes_of(i64 elements) const { return (elements * element_bits() + 7) >> 3; }
  i64 chunk_bytes() const { return is_padded() ? 2 * element_bits() : 16; }
  // Of dimension 1 and up.
  i64 stride_bytes(u32 dimension) const {
    u64 high = own >> 4 * (dimension - 1) & 15;
    return (high << 32 | strides[dimension - 1]) << 4;
  }
  i64 box_extent(u32 dimension) const { return box[dimension] + 1; }
  i64 element_step(u32 dimension) const {
    u32 word = steps[0] | steps[1] << 8;
    return dimension ? (word >> 3 * dimension & 7) + 1 : 1;
  }
  // Elements of the box along a dimension: every `step`-th of its extent.
  i64 box_count(u32 dimension) const {
    i64 step = element_step(dimension);
    return (box_extent(dimension) + step - 1) / step;
  }
  // 0, or 1 and 2 for slices of 16 and 32 bytes.
  u32 interleave() const { return own >> tensor_map::INTERLEAVE_SHIFT & 3; }
  // Of an interleaved tensor; of others the 16 bytes that a box begins at a multiple of.
  i64 slice_bytes() const { return 16 << (interleave() >> 1); }
  // Slices of channels in a box; 1 where the tensor is not interleaved.
  i64 slices() const { return interleave() ? (global_row_bytes() + slice_bytes() - 1) / slice_bytes() : 1; }
  u32 atom() const { return flags >> tensor_map::ATOM_SHIFT & 3; }
  // An address in shared memory as it is swizzled: a number of 16, 32 or 64 bytes is xored with the number of 128.
  u64 swizzled(u64 address) const {
    using namespace tensor_map;
    if (swizzle() != 3 || atom() == ATOM_16B) return address ^ (address >> 3 & (((1u << swizzle()) - 1) << 4));
    return atom() == ATOM_64B ? address ^ (address >> 1 & 1 << 6) : address ^ (address >> 2 & 3 << 5);
  }
  // Whether the halves of 16 bytes change places.
  bool flips(u64 address) const { return atom() == tensor_map::ATOM_32B_FLIP_8B && (address >> 7 & 1); }
  u64 swizzle_span() const { return 16ull << swizzle(); }
  i64 pixels() const { return (i64)last_pixel + 1; }
  // Of a wide map, whose halo comes after each group of pixels.
  i64 group_pixels() const { return mode() == tensor_map::IM2COL_W128 ? tensor_map::WIDE_GROUP : pixels(); }
  // The offset of a corner of an im2col box along dimension 1 to 3: 16, 8 or 5 bits, by the map's rank; 16 if it is
  // wide.
  i64 corner(u32 dimension, bool upper) const {
    u32 bits = last_dimension() == 2 || is_wide() ? 16 : last_dimension() == 3 ? 8 : 5;
    u64 from = (u64)im2col.corners >> (bits * (dimension - 1) + 16 * upper);
    return (i64)(from << (64 - bits)) >> (64 - bits);
  }
  // The bytes of a row of a box in shared memory, and of the same row in global memory.
  i64 row_bytes() const { return is_padded() ? box_extent(0) : global_row_bytes(); }
  i64 global_row_bytes() const { return bytes_of(box_extent(0)); }
  i64 channel_bytes() const { return bytes_of((i64)last[0] + 1); }
  // A row begins at a multiple of these.
  i64 unit_bytes() const { return is_padded() ? bytes_of(tensor_map::PADDED_ELEMENTS) : slice_bytes(); }
};
static_assert(offsetof(TensorMap, flags) == tensor_map::FLAGS_AT);
static_assert(offsetof(TensorMap, strides) == tensor_map::STRIDES_AT);
static_assert(offsetof(TensorMap, own) == tensor_map::OWN_AT && offsetof(TensorMap, last) == tensor_map::EXTENTS_AT);
static_assert(offsetof(TensorMap, steps) == tensor_map::STEPS_AT && offsetof(TensorMap, box) == tensor_map::BOX_AT);
static_assert(offsetof(TensorMap, im2col.corners) == tensor_map::CORNERS_AT);
static_assert(offsetof(TensorMap, last_pixel) == tensor_map::PIXELS_AT);
