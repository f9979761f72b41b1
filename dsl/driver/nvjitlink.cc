// nvJitLink makes machine code of PTX, which cannot run here. cuda.core, and so Numba, take the driver's linker where
// nvJitLink has no version, and then PTX arrives here. So this library is also libnvJitLink.so, in a folder that only
// it looks into: it loads itself by that name, and nobody finds nvJitLink's version. Its other functions fail.
#include <dlfcn.h>

#include "api.h"

// When the library is loaded: cuda.core decides before it calls anything.
[[gnu::constructor]] static void be_found_as_linker() {
  dlopen("libnvJitLink.so.13", RTLD_LAZY | RTLD_LOCAL);
  dlopen("libnvJitLink.so.12", RTLD_LAZY | RTLD_LOCAL);
}

constexpr u32 INTERNAL_ERROR = 6;  // nvJitLinkResult

#define RELEASE(name, release) \
  extern "C" [[gnu::visibility("default")]] u32 __nvJitLink##name##_##release() { \
    driver::unsupported("nvJitLink" #name); \
    return INTERNAL_ERROR; \
  }
#define RELEASES(name, major) \
  RELEASE(name, major##_0) RELEASE(name, major##_1) RELEASE(name, major##_2) RELEASE(name, major##_3) \
  RELEASE(name, major##_4) RELEASE(name, major##_5) RELEASE(name, major##_6) RELEASE(name, major##_7) \
  RELEASE(name, major##_8) RELEASE(name, major##_9)
#define FUNCTION(name) RELEASES(name, 12) RELEASES(name, 13)

FUNCTION(Create)
FUNCTION(Destroy)
FUNCTION(AddData)
FUNCTION(AddFile)
FUNCTION(Complete)
FUNCTION(GetLinkedCubinSize)
FUNCTION(GetLinkedCubin)
FUNCTION(GetLinkedPtxSize)
FUNCTION(GetLinkedPtx)
FUNCTION(GetErrorLogSize)
FUNCTION(GetErrorLog)
FUNCTION(GetInfoLogSize)
FUNCTION(GetInfoLog)
