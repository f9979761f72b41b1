// Every name of the API, and what those answer that are not here.
#include "unsupported.h"

#include <stdio.h>

// Each name is defined here weakly, so that the definition in another file counts where there is one. The name for
// streams of threads is another name of the function: nothing overlaps, so both null streams are the same.
#define NAME(base, since, symbol) \
  extern "C" [[gnu::visibility("default"), gnu::weak]] Result symbol() { return driver::unsupported(#symbol); }
#define THREAD(base, since, symbol, per_thread) \
  NAME(base, since, symbol) \
  asm(".globl " #per_thread "\n.type " #per_thread ", @function\n" #per_thread ": jmp " #symbol);
#include "names.inc"
#undef NAME
#undef THREAD

#define NAME(base, since, symbol)
#define THREAD(base, since, symbol, per_thread) extern "C" Result per_thread();
#include "names.inc"
#undef NAME
#undef THREAD

namespace driver {

#define NAME(base, since, symbol) {#base, since, #symbol, (void *)symbol, (void *)symbol},
#define THREAD(base, since, symbol, per_thread) {#base, since, #symbol, (void *)symbol, (void *)per_thread},
const Entry ENTRIES[] = {
#include "names.inc"
};
#undef NAME
#undef THREAD
const u64 ENTRY_COUNT = sizeof ENTRIES / sizeof *ENTRIES;

namespace {

struct Count {
  char *what;
  u32 times;
};
Vector<Count> missing;

// What the program asked for and did not get.
[[gnu::destructor]] void name_missing() {
  if (!missing.count) return;
  char text[1800];
  u64 at = 0;
  for (Count &each : missing) {
    int more = snprintf(text + at, sizeof text - at, "%s%s", at ? "; " : "", each.what);
    if (more < 0 || (u64)more >= sizeof text - at) break;
    at += (u64)more;
  }
  text[at] = 0;
  tell("the emulator does not have: %s. The calls answered CUDA_ERROR_NOT_SUPPORTED (801)", text);
}

}  // namespace

Result unsupported(const char *what) {
  Guard guard;
  for (Count &each : missing)
    if (!strcmp(each.what, what)) return ++each.times, NOT_SUPPORTED;
  missing.add({strdup(what), 1});
  return NOT_SUPPORTED;
}

}  // namespace driver
