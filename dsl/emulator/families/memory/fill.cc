// st.bulk: zeros in shared memory. PTX ISA 9.7.9.13.
#include "machine/emu.h"

// Put zeros into `size` bytes of shared memory at a generic address; 0 after a fault.
extern "C" u32 emu_fill(Context *ctx, u32 tid, u32 site, u64 address, u64 size) {
  if (size & 7) return illegal(ctx, tid, site, BAD_FILL, size);
  if (!emu_range(ctx, address, size, 8, SHARED, site, tid)) return 0;
  __builtin_memset((void *)address, 0, size);
  return 1;
}
