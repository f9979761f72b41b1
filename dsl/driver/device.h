// The device and its numbers.
#pragma once
#include "api.h"

namespace driver {

#define ATTRIBUTE(which, value)
#define NUMBER(name, value) constexpr u32 name = value;
#include "device.inc"
#undef NUMBER
#undef ATTRIBUTE

constexpr int attribute(u32 which) {
  switch (which) {
#define ATTRIBUTE(number, value) \
  case number: return value;
#define NUMBER(name, value)
#include "device.inc"
#undef NUMBER
#undef ATTRIBUTE
    default: return 0;
  }
}

constexpr u64 TOTAL_BYTES = 80ull << 30;
constexpr u32 MAX_THREADS = attribute(1), BLOCK_SMEM_BYTES = attribute(8), WARP = attribute(10), SMS = attribute(16);
constexpr u32 SM_THREADS = attribute(39), SM_SMEM_BYTES = attribute(81), MOST_SMEM_BYTES = attribute(97);
constexpr u32 SM_BLOCKS = attribute(106), RESERVED_SMEM_BYTES = attribute(111);

int device_count();  // 0 where CUDA_VISIBLE_DEVICES hides it

}  // namespace driver
