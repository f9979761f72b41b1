// The last accesses and meetings of each thread, from which the fix of a race is found. See trail.py.
#include "check/check.h"

extern "C" {

void emu_trail(Context *ctx, u32 tid, u32 site, u64 value) { keep_in_trail(ctx, tid, site, value); }

// A round of a loop begins.
void emu_round(Context *ctx, u32 tid) {
  if (ctx->trail) ++ctx->trail[tid].rounds;
}
}
