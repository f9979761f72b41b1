// CUDA arrays: memory of texels that programs reach by copies, textures and surfaces.
#pragma once
#include "memory.h"
#include "objects.h"

namespace driver {

// CUDA_ARRAY3D_DESCRIPTOR. A size of 0: the array has fewer dimensions.
struct ArrayDescriptor {
  u64 width, height, depth;
  u32 format, channels, flags;
};

enum : u32 { LAYERED = 1, SURFACE = 2, CUBEMAP = 4, GATHER = 8 };  // flags

struct Array : Object {
  static constexpr Kind KIND = Kind::ARRAY;
  ArrayDescriptor description;
  Address data;
  u64 row_bytes, rows, planes;
};

u32 bytes_of_format(u32 format);  // CUarray_format, of one channel; 0 if there is none here

}  // namespace driver
