// tensormap.replace: one field of a tensor map changed by a kernel. PTX ISA 9.7.9.28, tensormap.replace.
//
// Types of elements have the numbers of cuTensorMapEncodeTiled here, except that f32.ftz, f64 and bf16 come in that
// order. A rank is one less, as in the map; strides are bytes.
#include "families/tensor_map/tensor_map.h"

namespace {

constexpr u8 TYPE_OF_ELEMTYPE[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7, 8, 0, 0, 0};
constexpr u32 TF32_FROM = 11;

// Replace bits of a word.
void put(u32 &word, u32 shift, u32 bits, u64 value) {
  u32 mask = ((1u << bits) - 1) << shift;
  word = (word & ~mask) | ((u32)(value << shift) & mask);
}

}  // namespace

// Set a field of a map; 0 after a fault.
extern "C" u32 emu_map_replace(Context *ctx, u64 address, u32 field, u32 dimension, u64 value, u32 site, u32 tid) {
  using namespace map_field;
  if (!emu_range(ctx, address, tensor_map::BYTES, tensor_map::ALIGNMENT_BYTES, GENERIC, site, tid)) return 0;
  TensorMap *map = (TensorMap *)address;
  u32 flags = map->flags, own = map->own, steps;
  __builtin_memcpy(&steps, (u8 *)map + tensor_map::STEPS_AT, 4);
  // 128 zeros become a map of tiles with their first field: kernels begin with them (every release of Triton).
  if (!map->mode()) flags |= tensor_map::TILED | tensor_map::ALWAYS;
  switch (field) {
    case GLOBAL_ADDRESS: map->address = value; break;
    case RANK: put(flags, 4, 3, value); break;
    case BOX_DIM: ((u8 *)map)[tensor_map::BOX_AT + dimension] = value - 1; break;
    case GLOBAL_DIM: map->last[dimension] = value - 1; break;
    case GLOBAL_STRIDE:  // of dimension 1 where `dimension` is 0
      map->strides[dimension] = value >> 4;
      put(own, 4 * dimension, 4, value >> 36);
      break;
    case ELEMENT_STRIDE:
      put(steps, 3 * dimension, 3, value - 1);
      __builtin_memcpy((u8 *)map + tensor_map::STEPS_AT, &steps, 4);
      break;
    case ELEMTYPE:
      put(flags, 7, 4, TYPE_OF_ELEMTYPE[value & 15]);
      put(flags, 16, 1, value >= TF32_FROM);
      break;
    case INTERLEAVE_LAYOUT: put(own, tensor_map::INTERLEAVE_SHIFT, 2, value); break;
    case SWIZZLE_MODE: put(flags, 13, 3, value); break;
    case SWIZZLE_ATOMICITY: put(flags, tensor_map::ATOM_SHIFT, 2, value); break;
    case FILL_MODE: put(own, tensor_map::FILL_SHIFT, 1, value); break;
  }
  map->flags = flags;
  map->own = own;
  return 1;
}
