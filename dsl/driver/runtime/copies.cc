// Copies of bytes in a row: between host and device, to and from variables, between devices.
#include <string.h>

#include "registration.h"

DRIVER(cuMemcpy, Address, Address, size_t)
DRIVER(cuMemcpyHtoD_v2, Address, const void *, size_t)
DRIVER(cuMemcpyDtoH_v2, void *, Address, size_t)
DRIVER(cuMemcpyDtoD_v2, Address, Address, size_t)
DRIVER(cuMemcpyAsync, Address, Address, size_t, Stream)
DRIVER(cuMemcpyHtoDAsync_v2, Address, const void *, size_t, Stream)
DRIVER(cuMemcpyDtoHAsync_v2, void *, Address, size_t, Stream)
DRIVER(cuMemcpyDtoDAsync_v2, Address, Address, size_t, Stream)
DRIVER(cuStreamSynchronize, Stream)
DRIVER(cuDevicePrimaryCtxRetain, Context *, int)
DRIVER(cuMemcpyPeer, Address, Context, Address, Context, size_t)
DRIVER(cuMemcpyPeerAsync, Address, Context, Address, Context, size_t, Stream)

namespace {

Error copy(void *target, const void *source, size_t bytes, CopyKind kind) {
  if (!bytes) return SUCCESS;
  if (!target || !source) return INVALID_VALUE;
  switch (kind) {
    case HOST_TO_HOST: memmove(target, source, bytes); return driver::cuStreamSynchronize(nullptr);
    case HOST_TO_DEVICE: return driver::cuMemcpyHtoD_v2((Address)target, source, bytes);
    case DEVICE_TO_HOST: return driver::cuMemcpyDtoH_v2(target, (Address)source, bytes);
    case DEVICE_TO_DEVICE: return driver::cuMemcpyDtoD_v2((Address)target, (Address)source, bytes);
    case BY_ADDRESS: return driver::cuMemcpy((Address)target, (Address)source, bytes);
  }
  return INVALID_MEMCPY_DIRECTION;
}

Error copy_in_stream(void *target, const void *source, size_t bytes, CopyKind kind, Stream stream) {
  if (!bytes) return SUCCESS;
  if (!target || !source) return INVALID_VALUE;
  switch (kind) {
    case HOST_TO_DEVICE: return driver::cuMemcpyHtoDAsync_v2((Address)target, source, bytes, stream);
    case DEVICE_TO_HOST: return driver::cuMemcpyDtoHAsync_v2(target, (Address)source, bytes, stream);
    case DEVICE_TO_DEVICE: return driver::cuMemcpyDtoDAsync_v2((Address)target, (Address)source, bytes, stream);
    case HOST_TO_HOST:
    case BY_ADDRESS: return driver::cuMemcpyAsync((Address)target, (Address)source, bytes, stream);
  }
  return INVALID_MEMCPY_DIRECTION;
}

bool is_to_device(CopyKind kind) { return kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE || kind == BY_ADDRESS; }
bool is_from_device(CopyKind kind) { return kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE || kind == BY_ADDRESS; }

// A copy to a variable, by `how`, which is given the address.
template <typename How>
Error to_variable(const void *variable, size_t bytes, size_t offset, CopyKind kind, How how) {
  return call([&] {
    void *address = nullptr;
    if (!is_to_device(kind)) return (Error)INVALID_MEMCPY_DIRECTION;
    Error error = part_of(variable, offset, bytes, &address);
    return error ? error : how(address);
  });
}

template <typename How>
Error from_variable(const void *variable, size_t bytes, size_t offset, CopyKind kind, How how) {
  return call([&] {
    void *address = nullptr;
    if (!is_from_device(kind)) return (Error)INVALID_MEMCPY_DIRECTION;
    Error error = part_of(variable, offset, bytes, &address);
    return error ? error : how(address);
  });
}

// For the variants of a thread's stream: in that stream, then waited for.
Error copy_and_wait(void *target, const void *source, size_t bytes, CopyKind kind) {
  Error error = copy_in_stream(target, source, bytes, kind, PER_THREAD_STREAM);
  return error ? error : driver::cuStreamSynchronize(PER_THREAD_STREAM);
}

}  // namespace

API Error cudaMemcpy(void *target, const void *source, size_t bytes, CopyKind kind) {
  return call([&] { return copy(target, source, bytes, kind); });
}

API Error cudaMemcpy_ptds(void *target, const void *source, size_t bytes, CopyKind kind) {
  return call([&] { return copy_and_wait(target, source, bytes, kind); });
}

API Error cudaMemcpyAsync(void *target, const void *source, size_t bytes, CopyKind kind, Stream stream) {
  return call([&] { return copy_in_stream(target, source, bytes, kind, stream); });
}
PER_THREAD(cudaMemcpyAsync);

API Error cudaMemcpyToSymbol(const void *variable, const void *source, size_t bytes, size_t offset, CopyKind kind) {
  return to_variable(variable, bytes, offset, kind, [&](void *at) { return copy(at, source, bytes, kind); });
}

API Error cudaMemcpyToSymbol_ptds(const void *variable, const void *source, size_t bytes, size_t offset,
                                  CopyKind kind) {
  return to_variable(variable, bytes, offset, kind, [&](void *at) { return copy_and_wait(at, source, bytes, kind); });
}

API Error cudaMemcpyToSymbolAsync(const void *variable, const void *source, size_t bytes, size_t offset, CopyKind kind,
                                  Stream stream) {
  return to_variable(variable, bytes, offset, kind,
                     [&](void *at) { return copy_in_stream(at, source, bytes, kind, stream); });
}
PER_THREAD(cudaMemcpyToSymbolAsync);

API Error cudaMemcpyFromSymbol(void *target, const void *variable, size_t bytes, size_t offset, CopyKind kind) {
  return from_variable(variable, bytes, offset, kind, [&](void *at) { return copy(target, at, bytes, kind); });
}

API Error cudaMemcpyFromSymbol_ptds(void *target, const void *variable, size_t bytes, size_t offset, CopyKind kind) {
  return from_variable(variable, bytes, offset, kind, [&](void *at) { return copy_and_wait(target, at, bytes, kind); });
}

API Error cudaMemcpyFromSymbolAsync(void *target, const void *variable, size_t bytes, size_t offset, CopyKind kind,
                                    Stream stream) {
  return from_variable(variable, bytes, offset, kind,
                       [&](void *at) { return copy_in_stream(target, at, bytes, kind, stream); });
}
PER_THREAD(cudaMemcpyFromSymbolAsync);

API Error cudaGetSymbolAddress(void **address, const void *variable) {
  return call([&] { return part_of(variable, 0, 0, address); });
}

API Error cudaGetSymbolSize(size_t *bytes, const void *variable) {
  Address start = 0;
  return call([&] { return variable_of(variable, &start, bytes); });
}

API Error cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device, size_t bytes) {
  return call([&] {
    Context to = nullptr, from = nullptr;
    if (Error error = driver::cuDevicePrimaryCtxRetain(&to, target_device)) return error;
    if (Error error = driver::cuDevicePrimaryCtxRetain(&from, source_device)) return error;
    return driver::cuMemcpyPeer((Address)target, to, (Address)source, from, bytes);
  });
}

API Error cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device, size_t bytes,
                              Stream stream) {
  return call([&] {
    Context to = nullptr, from = nullptr;
    if (Error error = driver::cuDevicePrimaryCtxRetain(&to, target_device)) return error;
    if (Error error = driver::cuDevicePrimaryCtxRetain(&from, source_device)) return error;
    return driver::cuMemcpyPeerAsync((Address)target, to, (Address)source, from, bytes, stream);
  });
}
