// CUlaunchConfig and its attributes, as the driver API documents them.
#pragma once
#include "work.h"

namespace driver {

struct LaunchAttribute {
  u32 id, padding;
  union {
    u32 words[16];
    u64 wide[8];
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

enum : u32 { COOPERATIVE_ATTRIBUTE = 2, CLUSTER_ATTRIBUTE = 4 };  // CUlaunchAttributeID

struct LaunchConfig {
  u32 grid[3], block[3], smem_bytes;
  void *stream;
  const LaunchAttribute *attributes;
  u32 count;
};
static_assert(sizeof(LaunchConfig) == 56);

// The shape of a launch. NOT_SUPPORTED, named, for an attribute that is set and changes what a launch does.
Result shape_of(const LaunchConfig &config, Shape *shape);

}  // namespace driver
