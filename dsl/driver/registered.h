// Memory of the program that it has registered.
#pragma once
#include "api.h"

namespace driver {

struct Registered {
  Address start;
  u64 bytes;
  Address device;  // of its first byte, once a kernel may use it; else 0
  u32 flags;
};

Registered *registered_of(Address host);

}  // namespace driver
