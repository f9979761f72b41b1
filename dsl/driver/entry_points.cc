// How programs find functions.  CUDA driver API: driver entry point access.
#include <dlfcn.h>

#include "in_process.h"
#include "unsupported.h"

using namespace driver;

namespace {

enum : u64 { PER_THREAD_STREAMS = 2 };                    // a flag
enum : u32 { FOUND = 0, NO_SUCH_NAME = 1, TOO_NEW = 2 };  // CUdriverProcAddressQueryResult

}  // namespace

API(cuGetProcAddress_v2)(const char *name, void **found, int version, u64 flags, u32 *status) {
  REFUSE_IF(!name || !found, INVALID_VALUE);
  const Entry *best = nullptr;
  bool is_known = false;
  for (u64 i = 0; i < ENTRY_COUNT; ++i) {
    const Entry &each = ENTRIES[i];
    bool is_base = !strcmp(each.base, name);
    is_known = is_known || is_base;
    if (is_base ? each.since <= version && (!best || each.since >= best->since) : !best && !strcmp(each.symbol, name))
      best = &each;
  }
  *found = !best ? nullptr : flags & PER_THREAD_STREAMS ? best->per_thread : best->address;
  if (status) *status = *found ? FOUND : is_known ? TOO_NEW : NO_SUCH_NAME;
  return *found ? SUCCESS : NOT_FOUND;
}

API(cuGetProcAddress)(const char *name, void **found, int version, u64 flags) {
  return cuGetProcAddress_v2(name, found, version, flags, nullptr);
}

// Private tables of NVIDIA's libraries. Their runtime asks for one when a program has it inside.
API(cuGetExportTable)(const void **table, const u8 *id) {
  static const u8 RUNTIME[][4] = {{0x6b, 0xd5, 0xfb, 0x6c}, {0xd4, 0x08, 0x20, 0x55}};
  static bool is_told;
  REFUSE_IF(!table || !id, INVALID_VALUE);
  *table = nullptr;
  bool is_torch = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!is_told && !driver::is_in_process() && (is_torch || !memcmp(id, RUNTIME[0], 4) || !memcmp(id, RUNTIME[1], 4))) {
    is_told = true;
    tell(is_torch
             ? "PyTorch's kernels are machine code of GPUs; fix: run the program by `python -m dsl`, which computes "
               "them on the CPU"
             : "this program has NVIDIA's CUDA runtime inside, which needs NVIDIA's driver; fix: build it with "
               "`nvcc -cudart shared`");
  }
  return NOT_FOUND;
}
