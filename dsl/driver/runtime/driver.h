// The CUDA driver library, loaded when the first function of it is called.
// Only documented functions are called, by the names they are exported under, so any driver serves.
#pragma once
#include "types.h"

namespace driver {

// The function of that name; null if the driver library or the function is missing.
void *find(const char *name);
// The error for a function that find() did not find; the function is named when the program ends.
Error absent(const char *name);

template <typename... Arguments>
struct Entry {
  const char *name;
  void *address = nullptr;

  Error operator()(Arguments... arguments) {
    if (!address && !(address = find(name))) return absent(name);
    return ((Error (*)(Arguments...))address)(arguments...);
  }
};

}  // namespace driver

// A function of the driver: DRIVER(cuMemAlloc_v2, Address *, size_t) declares driver::cuMemAlloc_v2.
#define DRIVER(name, ...) \
  namespace driver { \
  inline Entry<__VA_ARGS__> name{#name}; \
  }
