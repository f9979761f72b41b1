// Devices: choice, attributes, limits, synchronisation, reset, access of one another.
#include <string.h>

#include "runtime.h"

DRIVER(cuInit, u32)
DRIVER(cuDriverGetVersion, int *)
DRIVER(cuDeviceGetCount, int *)
DRIVER(cuDeviceGet, int *, int)
DRIVER(cuDeviceGetAttribute, int *, Attribute, int)
DRIVER(cuDeviceGetByPCIBusId, int *, const char *)
DRIVER(cuDeviceGetPCIBusId, char *, int, int)
DRIVER(cuDeviceCanAccessPeer, int *, int, int)
DRIVER(cuDeviceGetP2PAttribute, int *, Attribute, int, int)
DRIVER(cuDevicePrimaryCtxRetain, Context *, int)
DRIVER(cuDevicePrimaryCtxReset_v2, int)
DRIVER(cuDevicePrimaryCtxSetFlags_v2, int, u32)
DRIVER(cuDevicePrimaryCtxGetState, int, u32 *, int *)
DRIVER(cuCtxGetCurrent, Context *)
DRIVER(cuCtxSetCurrent, Context)
DRIVER(cuCtxGetDevice, int *)
DRIVER(cuCtxSynchronize)
DRIVER(cuCtxGetLimit, size_t *, int)
DRIVER(cuCtxSetLimit, int, size_t)
DRIVER(cuCtxGetCacheConfig, int *)
DRIVER(cuCtxSetCacheConfig, int)
DRIVER(cuCtxGetStreamPriorityRange, int *, int *)
DRIVER(cuCtxResetPersistingL2Cache)
DRIVER(cuCtxEnablePeerAccess, Context, u32)
DRIVER(cuCtxDisablePeerAccess, Context)
DRIVER(cuFlushGPUDirectRDMAWrites, int, int)
DRIVER(cuThreadExchangeStreamCaptureMode, int *)

namespace {

constexpr u32 VALID_FLAGS = 0x1F | 0x20 | 0x80;

thread_local int device;

// A process may get its device later (`python -m dsl`), so an error is not kept.
Error initialise() {
  static bool is_done;
  if (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) return SUCCESS;
  int version = 0;
  if (Error error = driver::cuInit(0)) return error;
  if (Error error = driver::cuDriverGetVersion(&version)) return error;
  if (version < CUDART_MAJOR * 1000) return INSUFFICIENT_DRIVER;
  __atomic_store_n(&is_done, true, __ATOMIC_RELEASE);
  return SUCCESS;
}

Error bind(int ordinal) {
  Context context = nullptr;
  Error error = driver::cuDevicePrimaryCtxRetain(&context, ordinal);
  return error ? error : driver::cuCtxSetCurrent(context);
}

Error check_ordinal(int ordinal) {
  int count = 0;
  if (Error error = initialise()) return error;
  if (Error error = driver::cuDeviceGetCount(&count)) return error;
  return ordinal < 0 || ordinal >= count ? INVALID_DEVICE : SUCCESS;
}

// A function about one device, which needs no context.
template <typename Body>
Error on_device(int ordinal, Body body) {
  Error error = check_ordinal(ordinal);
  return remember(error ? error : body());
}

// Access of the current device to another one's memory, switched by `change`.
template <typename Change>
Error with_peer(int ordinal, Change change) {
  if (Error error = check_ordinal(ordinal)) return error;
  if (ordinal == current_device()) return INVALID_DEVICE;
  Context context = nullptr;
  Error error = driver::cuDevicePrimaryCtxRetain(&context, ordinal);
  return error ? error : change(context);
}

}  // namespace

Error ready() {
  Context context = nullptr;
  if (Error error = initialise()) return error;
  if (Error error = driver::cuCtxGetCurrent(&context)) return error;
  return context ? SUCCESS : bind(device);
}

int current_device() {
  int ordinal = device;
  return driver::cuCtxGetDevice(&ordinal) ? device : ordinal;
}

API Error cudaGetDeviceCount(int *count) {
  if (!count) return remember(INVALID_VALUE);
  Error error = initialise();
  *count = 0;
  if (!error) error = driver::cuDeviceGetCount(count);
  return remember(error ? error : *count ? SUCCESS : NO_DEVICE);
}

API Error cudaSetDevice(int ordinal) {
  return on_device(ordinal, [&] {
    device = ordinal;
    return bind(ordinal);
  });
}

API Error cudaInitDevice(int ordinal, u32 flags, u32) {
  return on_device(ordinal, [&] {
    Context context = nullptr;
    Error error = driver::cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
    return error ? error : driver::cuDevicePrimaryCtxRetain(&context, ordinal);
  });
}

API Error cudaGetDevice(int *ordinal) {
  if (!ordinal) return remember(INVALID_VALUE);
  if (Error error = initialise()) return remember(error);
  *ordinal = current_device();
  return SUCCESS;
}

API Error cudaSetValidDevices(int *ordinals, int count) {
  for (int i = 0; i < count; i++)
    if (Error error = check_ordinal(ordinals[i])) return remember(error);
  return SUCCESS;
}

API Error cudaChooseDevice(int *ordinal, const void *) {
  if (Error error = check_ordinal(0)) return remember(error);
  *ordinal = 0;
  return SUCCESS;
}

API Error cudaSetDeviceFlags(u32 flags) {
  if (flags & ~VALID_FLAGS) return remember(INVALID_VALUE);
  return on_device(device, [&] { return driver::cuDevicePrimaryCtxSetFlags_v2(device, flags); });
}

API Error cudaGetDeviceFlags(u32 *flags) {
  int active = 0;
  return on_device(device, [&] { return driver::cuDevicePrimaryCtxGetState(device, flags, &active); });
}

API Error cudaDeviceGetAttribute(int *value, Attribute attribute, int ordinal) {
  return on_device(ordinal, [&] { return driver::cuDeviceGetAttribute(value, attribute, ordinal); });
}

API Error cudaDeviceGetByPCIBusId(int *ordinal, const char *id) {
  Error error = initialise();
  return remember(error ? error : driver::cuDeviceGetByPCIBusId(ordinal, id));
}

API Error cudaDeviceGetPCIBusId(char *id, int length, int ordinal) {
  return on_device(ordinal, [&] { return driver::cuDeviceGetPCIBusId(id, length, ordinal); });
}

API Error cudaDeviceCanAccessPeer(int *can, int ordinal, int peer) {
  if (Error error = check_ordinal(peer)) return remember(error);
  return on_device(ordinal, [&] { return driver::cuDeviceCanAccessPeer(can, ordinal, peer); });
}

API Error cudaDeviceGetP2PAttribute(int *value, Attribute attribute, int source, int target) {
  if (Error error = check_ordinal(target)) return remember(error);
  return on_device(source, [&] { return driver::cuDeviceGetP2PAttribute(value, attribute, source, target); });
}

API Error cudaDeviceEnablePeerAccess(int peer, u32 flags) {
  return call([&] { return with_peer(peer, [&](Context c) { return driver::cuCtxEnablePeerAccess(c, flags); }); });
}

API Error cudaDeviceDisablePeerAccess(int peer) {
  return call([&] { return with_peer(peer, [](Context c) { return driver::cuCtxDisablePeerAccess(c); }); });
}

API Error cudaDeviceSynchronize() {
  return call([] { return driver::cuCtxSynchronize(); });
}

API Error cudaDeviceReset() {
  return on_device(device, [] {
    Error error = driver::cuDevicePrimaryCtxReset_v2(device);
    forget_context_error();
    return error ? error : driver::cuCtxSetCurrent(nullptr);
  });
}

API Error cudaDeviceGetLimit(size_t *value, int limit) {
  return call([&] { return driver::cuCtxGetLimit(value, limit); });
}

API Error cudaDeviceSetLimit(int limit, size_t value) {
  return call([&] { return driver::cuCtxSetLimit(limit, value); });
}

API Error cudaDeviceGetCacheConfig(int *config) {
  return call([&] { return driver::cuCtxGetCacheConfig(config); });
}

API Error cudaDeviceSetCacheConfig(int config) {
  return call([&] { return driver::cuCtxSetCacheConfig(config); });
}

// Banks of shared memory are 4 bytes wide on every device of compute capability 5.0 and later.
API Error cudaDeviceGetSharedMemConfig(int *config) {
  *config = 1;
  return SUCCESS;
}

API Error cudaDeviceSetSharedMemConfig(int config) { return config < 0 || config > 2 ? remember(INVALID_VALUE) : 0; }

API Error cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return call([&] { return driver::cuCtxGetStreamPriorityRange(least, greatest); });
}

API Error cudaCtxResetPersistingL2Cache() {
  return call([] { return driver::cuCtxResetPersistingL2Cache(); });
}

API Error cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope) {
  return call([&] { return driver::cuFlushGPUDirectRDMAWrites(target, scope); });
}

API Error cudaThreadExchangeStreamCaptureMode(int *mode) {
  return call([&] { return driver::cuThreadExchangeStreamCaptureMode(mode); });
}

API Error cudaDriverGetVersion(int *version) {
  *version = 0;  // without a driver
  return driver::find("cuDriverGetVersion") ? remember(driver::cuDriverGetVersion(version)) : SUCCESS;
}

API Error cudaRuntimeGetVersion(int *version) {
  if (!version) return remember(INVALID_VALUE);
  *version = CUDART_MAJOR == 12 ? 12090 : 13000;
  return SUCCESS;
}

#if CUDART_MAJOR == 12
API Error cudaThreadExit() { return cudaDeviceReset(); }
API Error cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
API Error cudaThreadGetLimit(size_t *value, int limit) { return cudaDeviceGetLimit(value, limit); }
API Error cudaThreadSetLimit(int limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
API Error cudaThreadGetCacheConfig(int *config) { return cudaDeviceGetCacheConfig(config); }
API Error cudaThreadSetCacheConfig(int config) { return cudaDeviceSetCacheConfig(config); }
#endif
