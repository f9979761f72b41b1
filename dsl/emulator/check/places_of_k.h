// Reads of matrix products from shared memory that nobody wrote.
#pragma once
#include "machine/emu.h"

extern "C" u32 emu_undefined(Context *, u32 tid, u32 site, u64 mark, u32 how);

// An operand of a matrix product in shared memory, by places along K. Rows or columns past the last may be unwritten,
// and so is what is computed of them. A place that nobody wrote in any row makes the whole product undefined.
class PlacesOfK {
 public:
  // 16 bytes are read that belong to a place, a number of bytes from the first.
  void read(Context *block, u32 offset, u32 place) {
    if (!block->smem_valid) return;
    u64 valid[2], bit = 1ull << place / 2;
    __builtin_memcpy(valid, block->smem_valid + offset, sizeof valid);
    if (valid[0] | valid[1]) written |= bit;
    else if (!(written & bit)) last = (u64)block->smem + offset;
    seen |= bit;
  }
  void tell(Context *ctx, u32 tid, u32 site) const {
    if (seen == written) return;
    u64 number = min(site, (u32)undefined::MOST_SITES) + 1;
    emu_undefined(ctx, tid, site, number << undefined::SITE_SHIFT | (last & undefined::ADDRESS_MASK),
                  undefined::GOES_ON);
  }

 private:
  u64 seen = 0, written = 0, last = 0;
};
