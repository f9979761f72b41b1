// cp.reduce.async.bulk: see bulk_reductions.cc.
#pragma once
#include "machine/emu.h"

// Whether there is a reduction of that code (numbers.py, `reduction`).
bool is_reduction(u32 code);
// Combine `size` bytes at `source` into those at `target`.
void bulk_reduce(u8 *target, const u8 *source, u32 size, u32 code);
