// The device and its numbers.
#pragma once
#include "api.h"

namespace driver {

#define ATTRIBUTE(which, value)
#define MODEL_ATTRIBUTE(model, which, value)
#define NUMBER(name, value) constexpr u32 name = value;
#include "device.inc"
#undef NUMBER
#undef MODEL_ATTRIBUTE
#undef ATTRIBUTE

constexpr int attribute_of_h100(u32 which) {
  switch (which) {
#define ATTRIBUTE(number, value) \
  case number: return value;
#define MODEL_ATTRIBUTE(model, which, value)
#define NUMBER(name, value)
#include "device.inc"
#undef NUMBER
#undef MODEL_ATTRIBUTE
#undef ATTRIBUTE
    default: return 0;
  }
}

constexpr u64 TOTAL_BYTES = 80ull << 30;
// Those that all models have.
constexpr u32 MAX_THREADS = attribute_of_h100(1), BLOCK_SMEM_BYTES = attribute_of_h100(8);
constexpr u32 WARP = attribute_of_h100(10), RESERVED_SMEM_BYTES = attribute_of_h100(111);
// CUdevice_attribute of those that models differ in.
enum : u32 { SMS = 16, SM_THREADS = 39, CAPABILITY = 75, SM_SMEM_BYTES = 81, MOST_SMEM_BYTES = 97, SM_BLOCKS = 106 };

const char *gpu_model();   // that GPU_REPRO_GPU_MODEL names, or ""
int attribute(u32 which);  // of the model
inline u32 number_of(u32 which) { return (u32)attribute(which); }
inline u32 capability() { return number_of(CAPABILITY) * 10 + number_of(CAPABILITY + 1); }
u32 most_cluster_blocks();

int device_count();  // 0 where CUDA_VISIBLE_DEVICES hides it

}  // namespace driver
