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

// CUDA_MEM_ALLOC_NODE_PARAMS: properties of a pool first. The address is an answer.
struct AllocationParams {
  u8 pool[88];
  const void *access;
  u64 access_count, nbytes;
  Address address;
};

// CUDA_CONDITIONAL_NODE_PARAMS: the graphs are an answer, and the node's.
struct ConditionParams {
  Address value;
  u32 kind, count;
  Graph **bodies;
  Context *context;
};

Result add_condition(Node **made, Graph *graph, Node *const *after, u64 count, ConditionParams *params);
Result add(Node **made, Graph *graph, Node *const *after, u64 count, const Work &work);
Result add_allocation(Node **made, Graph *graph, Node *const *after, u64 count, AllocationParams *params);
Result add_free(Node **made, Graph *graph, Node *const *after, u64 count, Address address);

// The work of a kernel; its parameters are valid until the next call.
Result work_of(const KernelParams &params, Work *work);
inline Work work_of(const FillParams &a) {
  return Fill{a.to, a.pitch, a.width, a.height, a.value, a.element_bytes, false};
}
inline Work work_of(const HostParams &a) { return HostCall{a.function, a.argument}; }

}  // namespace driver
