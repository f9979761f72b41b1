// Native code that makes a launch again, with other parameters, without Python.
//
// A Repeat is what it needs to know: the shape, what the kernel may touch, the slot and what is put into it. Everything
// else goes the way of every launch: another shape, memory that was registered since, a slot that is in use, checks,
// seeds, and now and then a launch in which Python looks how long the kernel has run.
#include "machine/grid.h"

extern "C" void emu_run_grid(Context *, RunBlock);

namespace {

struct Row { u32 offset, size; };

void give_back(Repeat *made) { __atomic_store_n(&made->state, relaunch::READY, __ATOMIC_RELEASE); }

// Whether the launch is one of this shape, nothing has changed, and Python need not look.
bool fits(const Repeat *made, const u32 *config) {
  u32 apart = 0;
  for (u32 i = 0; i < 7; ++i) apart |= config[i] ^ made->shape[i];
  return !apart && *(i64 *)made->signature_at == made->signature && !*(i32 *)made->watched_at && made->left;
}

}  // namespace

extern "C" {

// 1 where it was READY, and is the caller's now.
u32 emu_take(Repeat *made) {
  u32 ready = relaunch::READY;
  return __atomic_compare_exchange_n(&made->state, &ready, relaunch::BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// Make the launch; the answer is ELSEWHERE, 0, or the number of a launch that ended badly, which is not given back:
// Python looks at it.
u32 emu_relaunch(const u32 *config, Repeat *made, const void *const *params, void *) {
  if (!emu_take(made)) return relaunch::ELSEWHERE;
  if (!fits(made, config)) {
    give_back(made);
    return relaunch::ELSEWHERE;
  }
  --made->left;
  ++made->times;
  Context *slot = (Context *)made->slot;
  __builtin_memcpy(slot, (void *)made->slot_head, offsetof(Context, live));
  __builtin_memcpy((void *)made->grid, (void *)made->grid_head, sizeof(Grid));
  const Row *rows = (const Row *)made->rows;
  for (u64 i = 0; i < made->row_count; ++i)
    __builtin_memcpy((u8 *)made->params + rows[i].offset, params[i], rows[i].size);
  emu_run_grid(slot, (RunBlock)made->code);
  if (slot->status) return made->number;
  give_back(made);
  return 0;
}
}
