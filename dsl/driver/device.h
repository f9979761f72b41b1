// The device and its numbers.
#pragma once
#include "api.h"

namespace driver {

constexpr u64 TOTAL_BYTES = 80ull << 30;
constexpr u32 SMS = 132, WARP = 32, MAX_THREADS = 1024, SM_THREADS = 2048, SM_BLOCKS = 32;
constexpr u32 BLOCK_SMEM_BYTES = 48 << 10, MOST_SMEM_BYTES = 227 << 10, SM_SMEM_BYTES = 228 << 10;
constexpr u32 RESERVED_SMEM_BYTES = 1024, PORTABLE_CLUSTER_BLOCKS = 8, MOST_CLUSTER_BLOCKS = 16;

int device_count();  // 0 where CUDA_VISIBLE_DEVICES hides it
int attribute(u32 which);

}  // namespace driver
