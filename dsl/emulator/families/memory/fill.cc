// st.bulk: zeros in shared memory. PTX ISA 9.7.9.13. discard: memory that keeps nothing. PTX ISA 9.7.9.16.
#include "check/check.h"

namespace {
constexpr int DISCARDED = 0xDD;  // of each byte: a value that no program wants
}

// Put zeros into `size` bytes of shared memory at a generic address; 0 after a fault.
extern "C" u32 emu_fill(Context *ctx, u32 tid, u32 site, u64 address, u64 size) {
  if (size & 7) return illegal(ctx, tid, site, BAD_FILL, size);
  if (!emu_range(ctx, address, size, 8, SHARED, site, tid)) return 0;
  __builtin_memset((void *)address, 0, size);
  return 1;
}

// Bytes lose their values, which the ISA calls indeterminate: for the checker nobody has written them.
extern "C" void emu_discard(Context *ctx, void *start, u64 size) {
  __builtin_memset(start, DISCARDED, size);
  if (ctx->shadows) emu_unwritten_again(ctx, (u64)start, size);
}
