// Loading of the driver library, and the list of what programs asked for in vain.
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

namespace {

constexpr size_t MOST_NAMES = 64;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
const char *missing[MOST_NAMES];
size_t missing_count;

void *library() {
  static void *handle;
  pthread_mutex_lock(&lock);
  if (!handle) handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  pthread_mutex_unlock(&lock);
  return handle;
}

void note(const char *name) {
  pthread_mutex_lock(&lock);
  size_t i = 0;
  while (i < missing_count && strcmp(missing[i], name) != 0) i++;
  if (i == missing_count && i < MOST_NAMES) missing[missing_count++] = name;
  pthread_mutex_unlock(&lock);
}

// One line for all names, in one write, when the process ends.
[[gnu::destructor]] void report() {
  char text[4096] = "";
  size_t at = 0;
  for (size_t i = 0; i < missing_count && at < sizeof text; i++)
    at += snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "", missing[i]);
  if (missing_count) dprintf(2, "gpu-repro: this CUDA runtime does not have %s\n", text);
}

}  // namespace

void *driver::find(const char *name) {
  void *handle = library();
  return handle ? dlsym(handle, name) : nullptr;
}

Error driver::absent(const char *name) {
  if (!library()) return INSUFFICIENT_DRIVER;
  note(name);
  return CALL_REQUIRES_NEWER_DRIVER;
}

Error unsupported(const char *name) {
  note(name);
  return remember(NOT_SUPPORTED);
}
