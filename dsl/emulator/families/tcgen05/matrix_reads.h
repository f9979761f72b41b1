// Operands of tcgen05.mma and tcgen05.cp in shared memory: PTX ISA 9.7.16.3, 9.7.16.4.1, 9.7.16.10.1.
//
// A matrix descriptor has, in units of 16 bytes, the start address (bits 0-13), the leading (16-29) and the stride byte
// offset (32-45); 0b001 (46-48); the base offset (49-51); whether the leading offset is an address (52), of the line of
// 128 bytes in which a row goes on that does not end in its own; the swizzle (61-63). Memory is read in chunks of 16
// bytes. Where K runs fastest, row r of 32 bytes is two chunks; eight rows follow one another, W chunks apart, the next
// eight a stride offset further. Where M or N runs fastest, a chunk is some rows at one k. W is how many chunks the
// swizzle mixes: chunk c of line l (128 bytes each) of its pattern is at c xor l; with atoms of 32 bytes two chunks
// move together, and the pattern has four lines.
#pragma once
#include "families/tcgen05/tensor_memory.h"
#include "tensor_core/planes.h"

struct MatrixDescriptor {
  u64 bits;
  u32 start = offset(0), leading = offset(16), stride = offset(32);
  u32 swizzle = field(61, 7);
  bool plain = swizzle == 0, wide_atoms = swizzle == 1;
  u32 width_log2 = wide_atoms ? 3 : (4 - swizzle / 2) & 3, mask = (1u << width_log2) - 1;  // of the chunks mixed
  u32 pitch = CHUNK_BYTES << width_log2;                                                   // from a line to the next
  u32 lines = wide_atoms ? 4 : 8;
  u32 base = plain ? 0 : field(49, 7);
  bool absolute = field(52, 1);

  u32 field(u32 bit, u32 mask) const { return bits >> bit & mask; }
  u32 offset(u32 bit) const { return field(bit, 0x3FFF) << 4; }
  u32 swizzled(u32 address) const {
    u32 line = (address >> 7) - base;
    return address ^ (wide_atoms ? (line & 3) << 5 : (line & mask) << 4);
  }
  // The bit of the first field that has no meaning, or NO_FIELD.
  static constexpr u32 NO_FIELD = ~0u;
  u32 wrong_field(bool takes_absolute = false) const {
    if (field(46, 7) != 1) return 46;
    if (absolute && !(takes_absolute && swizzle == 2 && !base)) return 52;
    if (field(53, 0xFF)) return 53;
    return swizzle == 3 || swizzle == 5 || swizzle == 7 ? 61 : NO_FIELD;
  }
};

// `take(address, row, byte)` for each 16 bytes of `rows` rows of `bytes` bytes: of one row from a byte on. Stops, and
// is false, where `take` is.
template <class Take> bool each_chunk_by_row(const MatrixDescriptor &desc, u32 rows, u32 bytes, Take take) {
  const u32 step = desc.plain ? desc.leading : CHUNK_BYTES;
  const u32 in_line = desc.absolute ? 8 - (desc.start / CHUNK_BYTES & 7) : bytes / CHUNK_BYTES;
  for (u32 row = 0; row < rows; ++row) {
    const u32 inside = (row >> 3) * desc.stride + (row & 7) * desc.pitch;
    for (u32 chunk = 0; chunk < bytes / CHUNK_BYTES; ++chunk) {
      const u32 place = chunk < in_line ? desc.start + chunk * step : desc.leading + (chunk - in_line) * step;
      if (!take(desc.swizzled(place + inside), row, chunk * CHUNK_BYTES)) return false;
    }
  }
  return true;
}

// The same where M or N runs fastest: of as many rows as elements of `size` bytes are in 16, at one k.
template <class Take> bool each_chunk_by_k(const MatrixDescriptor &desc, u32 rows, u32 bytes, u32 size, Take take) {
  const u32 between_chunks = desc.plain ? desc.stride : desc.leading;
  const u32 between_ks = desc.plain ? desc.leading : desc.stride, several = CHUNK_BYTES / size;
  for (u32 chunk = 0; chunk < rows / several; ++chunk)
    for (u32 k = 0; k < bytes / size; ++k) {
      const u32 across = ((chunk & desc.mask) << 4) + (chunk >> desc.width_log2) * between_chunks;
      const u32 down = k % desc.lines * desc.pitch + k / desc.lines * between_ks;
      if (!take(desc.swizzled(desc.start + across + down), chunk * several, k * size)) return false;
    }
  return true;
}

// 16 elements of 4 or 6 bits, side by side, as a byte each: as tensor_core.h has them.
inline void widen(const u8 *packed, u32 bits, u8 *out) {
  for (u32 i = 0; i < CHUNK_BYTES; ++i) {
    const u32 bit = i * bits, pair = packed[bit / 8] | packed[bit / 8 + 1] << 8;
    out[i] = (pair >> bit % 8 & ((1 << bits) - 1)) << (bits == 4 ? 2 : 0);
  }
}
