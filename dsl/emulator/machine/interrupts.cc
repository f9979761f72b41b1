// Machine code lets Python run the handlers of signals: see dsl/interrupts.py.
//
// An exception cannot pass through machine code. It is kept, the machine code ends, and Python raises it afterwards.
// The same holds for a Python function that machine code calls: Python runs handlers before its first statement, where
// it cannot catch what they raise.
#include "machine/emu.h"

namespace {

struct Clock { i64 seconds, nanoseconds; };
struct Turns { i64 left, period, asked_ns; };
struct Kept { void *type, *value, *traceback; };

constexpr i32 MONOTONIC_COARSE = 6;
constexpr i64 PAUSE_NS = 20'000'000;  // between the questions of a host function
constexpr i32 RAISED = -1;            // as in dsl/interrupts.py

}  // namespace

extern "C" {
[[gnu::weak]] i32 PyGILState_Ensure();
[[gnu::weak]] void PyGILState_Release(i32);
[[gnu::weak]] i32 PyErr_CheckSignals();
[[gnu::weak]] void PyErr_Fetch(void **, void **, void **);
[[gnu::weak]] void PyErr_NormalizeException(void **, void **, void **);
[[gnu::weak]] void *PyObject_CallFunction(void *, const char *, ...);
[[gnu::weak]] long PyLong_AsLong(void *);
[[gnu::weak]] void Py_DecRef(void *);
[[gnu::weak]] i32 clock_gettime(i32, Clock *);

Kept emu_raised;  // by a handler, in the main thread
}

namespace {

// With Python's lock.
void keep() {
  PyErr_Fetch(&emu_raised.type, &emu_raised.value, &emu_raised.traceback);
  PyErr_NormalizeException(&emu_raised.type, &emu_raised.value, &emu_raised.traceback);
}

// Run the handlers of signals that have come, in the main thread only; whether one raised.
bool hear() {
  i32 lock = PyGILState_Ensure();
  bool raised = PyErr_CheckSignals();
  if (raised) keep();
  PyGILState_Release(lock);
  return raised;
}

}  // namespace

extern "C" {

// The stop flag of a block is set: 0 to go on, after hearing signals if that was asked.
u32 emu_take_signals(u64 address) {
  Context *ctx = (Context *)address;
  u32 flag = ASKED;
  bool asked = __atomic_compare_exchange_n(&ctx->stop, &flag, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  if (!asked) return flag;
  Grid *grid = ctx->shared_grid;
  if (hear()) {
    grid->raised = 1;
    __atomic_store_n(&grid->halt, 1, __ATOMIC_RELAXED);
  }
  // a stop at the same time
  bool late = ctx->block > __atomic_load_n(&grid->first_fault, __ATOMIC_SEQ_CST);
  return late || __atomic_load_n(&grid->halt, __ATOMIC_RELAXED);
}

// A loop of a host function has made a period of trips: RAISED to end, after hearing signals if it runs long.
i32 emu_look(Turns *turns) {
  turns->left = turns->period;
  Clock clock;
  clock_gettime(MONOTONIC_COARSE, &clock);
  i64 now_ns = clock.seconds * 1'000'000'000 + clock.nanoseconds;
  if (!turns->asked_ns) turns->asked_ns = now_ns;
  if (now_ns - turns->asked_ns <= PAUSE_NS) return 0;
  turns->asked_ns = now_ns;
  return hear() ? RAISED : 0;
}

// The result of the Python function for a launch, an int; RAISED if it raises.
i32 emu_call_python(void *function, void *handle, i32 index, void *record, void *params) {
  i32 lock = PyGILState_Ensure();
  i32 answer = RAISED;
  if (void *result = PyObject_CallFunction(function, "LiLL", handle, index, record, params)) {
    answer = PyLong_AsLong(result);
    Py_DecRef(result);
  } else keep();
  PyGILState_Release(lock);
  return answer;
}
}
