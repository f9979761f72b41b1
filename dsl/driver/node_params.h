// The parameters of nodes, as the driver API documents their members.
#pragma once
#include "graphs.h"

namespace driver {

// CUDA_KERNEL_NODE_PARAMS; the first version ends before `kernel`.
struct KernelParams {
  Function *function;
  u32 grid[3], block[3], smem_bytes;
  void **params, **extra;
  Function *kernel;
  Context *context;
};

// CUDA_MEMSET_NODE_PARAMS
struct FillParams {
  Address to;
  u64 pitch;
  u32 value, element_bytes;
  u64 width, height;
};

// CUDA_HOST_NODE_PARAMS
struct HostParams {
  void (*function)(void *);
  void *argument;
};

// The work of a kernel; its parameters are valid until the next call.
Result work_of(const KernelParams &params, Work *work);
inline Work work_of(const FillParams &a) {
  return Fill{a.to, a.pitch, a.width, a.height, a.value, a.element_bytes, false};
}
inline Work work_of(const HostParams &a) { return HostCall{a.function, a.argument}; }

}  // namespace driver
