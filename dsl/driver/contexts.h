// Contexts: what a thread works in, and the error that ends them.
#pragma once
#include "objects.h"

namespace driver {

constexpr u32 LIMITS = 16;

struct Context : Object {
  static constexpr Kind KIND = Kind::CONTEXT;
  u32 flags, cache, shared_memory_bank;
  Result lost;  // the error of a kernel that failed: every call answers it from then on
  bool is_primary;
  u32 retained;  // of the primary context: how often
  u64 limits[LIMITS];
};

Context *current();  // of this thread; nullptr if there is none
Context *primary();
void lose(Context *context, Result error);
void forget_device();  // the device is another one: blocks of memory are gone, the primary context begins again

}  // namespace driver
