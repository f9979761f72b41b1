// What every function of the runtime's interface needs: a current context, and the last error of the thread.
#pragma once
#include "driver.h"

#define API extern "C" [[gnu::visibility("default")]]

// Makes a context of the thread's device current, unless one is.
Error ready();
// Makes `error` the thread's last error, unless it is SUCCESS.
Error remember(Error error);
// The device of the calling thread.
int current_device();
// The answer of a function that this library does not have; the function is named when the program ends.
Error unsupported(const char *name);
// Forgets an error that is the context's, as its end does.
void forget_context_error();

// A function of the interface that needs a context.
template <typename Body>
Error call(Body body) {
  Error error = ready();
  return remember(error ? error : body());
}

// ** variants for the default stream of a thread: functions named NAME_ptsz, NAME_ptds

inline Stream per_thread(Stream stream) { return stream ? stream : PER_THREAD_STREAM; }
template <typename Value>
Value per_thread(Value value) {
  return value;
}

template <auto TARGET>
struct PerThread;
template <typename... Arguments, Error (*TARGET)(Arguments...)>
struct PerThread<TARGET> {
  static Error call(Arguments... arguments) { return TARGET(per_thread(arguments)...); }
};

// Exports NAME_ptsz: `name` with the thread's stream in the place of the default stream. The name is an indirect
// function, so the parameters need not be written again.
#define PER_THREAD(name) \
  extern "C" decltype(&name) name##_ptsz_resolve() { return PerThread<name>::call; } \
  API decltype(name) name##_ptsz __attribute__((ifunc(#name "_ptsz_resolve")))
