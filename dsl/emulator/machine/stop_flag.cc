// A stop flag that is set: stop, or hear signals and go on.
#include "machine/emu.h"

extern "C" {
[[gnu::weak]] int PyGILState_Ensure();
[[gnu::weak]] void PyGILState_Release(int);
[[gnu::weak]] int PyErr_CheckSignals();
[[gnu::weak]] void PyErr_Fetch(u64 *, u64 *, u64 *);
[[gnu::weak]] void PyErr_NormalizeException(u64 *, u64 *, u64 *);

// 0 to go on. Where it was asked to, signals are handled; what a handler raises is kept, and ends the launch.
//
// A handler's exception cannot go through a callback: it is raised before the callback's first statement.
u32 emu_take_signals(u64 address) {
  Context *ctx = (Context *)address;
  u32 flag = ASKED;
  bool asked = __atomic_compare_exchange_n(&ctx->stop, &flag, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  if (!asked) return flag;
  Grid *grid = ctx->shared_grid;
  int lock = PyGILState_Ensure();
  if (PyErr_CheckSignals()) {
    PyErr_Fetch(&grid->raised_type, &grid->raised_value, &grid->raised_trace);
    PyErr_NormalizeException(&grid->raised_type, &grid->raised_value, &grid->raised_trace);
    __atomic_store_n(&grid->halt, 1, __ATOMIC_RELAXED);
  }
  PyGILState_Release(lock);
  // a stop at the same time
  bool late = ctx->block > __atomic_load_n(&grid->first_fault, __ATOMIC_SEQ_CST);
  return late || __atomic_load_n(&grid->halt, __ATOMIC_RELAXED);
}
}
