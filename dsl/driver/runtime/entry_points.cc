// Functions of the driver by name, and the profiler's switch.
#include "runtime.h"

DRIVER(cuGetProcAddress_v2, const char *, void **, int, u64, int *)
DRIVER(cuProfilerStart)
DRIVER(cuProfilerStop)

namespace {

constexpr u64 PER_THREAD_FUNCTIONS = 2;  // for which CUDA_API_PER_THREAD_DEFAULT_STREAM stands
constexpr int DEFAULT_VERSION = CUDART_MAJOR * 1000;
constexpr int FOUND = 0, NOT_FOUND = 1;

// A name that is not found is an answer, not an error, if the caller asked for the status.
Error entry_point(const char *name, void **function, u32 version, u64 flags, int *status) {
  int found = FOUND;
  if (!name || !function) return INVALID_VALUE;
  *function = nullptr;
  Error error = driver::cuGetProcAddress_v2(name, function, (int)version, flags, &found);
  if (status) *status = error && found == FOUND ? NOT_FOUND : found;
  return error == SYMBOL_NOT_FOUND && status ? SUCCESS : error;
}

}  // namespace

API Error cudaGetDriverEntryPointByVersion(const char *name, void **function, u32 version, ULong flags, int *status) {
  return call([&] { return entry_point(name, function, version, flags, status); });
}

API Error cudaGetDriverEntryPoint(const char *name, void **function, ULong flags, int *status) {
  return cudaGetDriverEntryPointByVersion(name, function, DEFAULT_VERSION, flags, status);
}

// Flags of 0 leave the choice to how the caller was compiled, here for streams of threads.
API Error cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, u32 version, ULong flags,
                                                int *status) {
  return cudaGetDriverEntryPointByVersion(name, function, version, flags ? flags : PER_THREAD_FUNCTIONS, status);
}

API Error cudaGetDriverEntryPoint_ptsz(const char *name, void **function, ULong flags, int *status) {
  return cudaGetDriverEntryPointByVersion_ptsz(name, function, DEFAULT_VERSION, flags, status);
}

API Error cudaProfilerStart() {
  return call([] { return driver::cuProfilerStart(); });
}

API Error cudaProfilerStop() {
  return call([] { return driver::cuProfilerStop(); });
}
