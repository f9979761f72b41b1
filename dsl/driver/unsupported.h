// Every name of the API.
#pragma once
#include "api.h"

namespace driver {

struct Entry {
  const char *base;  // for cuGetProcAddress
  int since;         // the release of CUDA, 12030 for 12.3
  const char *symbol;
  void *address, *per_thread;  // for programs whose null stream is the one of the thread
};

extern const Entry ENTRIES[];
extern const u64 ENTRY_COUNT;

}  // namespace driver
