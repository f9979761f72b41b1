// Memory of the device, of the host, and both's (managed): allocation, registration, where a pointer is.
#include <string.h>

#include "runtime.h"

DRIVER(cuMemAlloc_v2, Address *, size_t)
DRIVER(cuMemAllocPitch_v2, Address *, size_t *, size_t, size_t, u32)
DRIVER(cuMemAllocManaged, Address *, size_t, u32)
DRIVER(cuMemFree_v2, Address)
DRIVER(cuMemHostAlloc, void **, size_t, u32)
DRIVER(cuMemFreeHost, void *)
DRIVER(cuMemHostRegister_v2, void *, size_t, u32)
DRIVER(cuMemHostUnregister, void *)
DRIVER(cuMemHostGetDevicePointer_v2, Address *, void *, u32)
DRIVER(cuMemHostGetFlags, u32 *, void *)
DRIVER(cuMemGetInfo_v2, size_t *, size_t *)
DRIVER(cuMemAdvise_v2, Address, size_t, int, Location)
DRIVER(cuMemPrefetchAsync_v2, Address, size_t, Location, u32, Stream)
DRIVER(cuMemRangeGetAttribute, void *, size_t, Attribute, Address, size_t)
DRIVER(cuMemRangeGetAttributes, void **, size_t *, Attribute *, size_t, Address, size_t)
DRIVER(cuPointerGetAttribute, void *, Attribute, Address)
DRIVER(cuStreamAttachMemAsync, Stream, Address, size_t, u32)

namespace {

// The driver's numbers for cuPointerGetAttribute.
enum : Attribute { MEMORY_TYPE = 2, DEVICE_POINTER = 3, HOST_POINTER = 4, IS_MANAGED = 8, ORDINAL = 9 };
// The runtime's numbers for kinds of memory; the first three are the driver's too.
enum : int { UNREGISTERED, HOST, DEVICE, MANAGED };

// Device `-1` is the processor.
[[maybe_unused]] Location location_of(int device) {
  return device < 0 ? Location{ON_HOST, 0} : Location{ON_DEVICE, device};
}

Error attributes_of(PointerAttributes *attributes, Address address) {
  u32 kind = UNREGISTERED;
  *attributes = {.type = UNREGISTERED, .device = -2, .device_pointer = nullptr, .host_pointer = (void *)address};
  if (driver::cuPointerGetAttribute(&kind, MEMORY_TYPE, address)) return SUCCESS;  // memory that CUDA does not know
  u32 managed = 0;
  driver::cuPointerGetAttribute(&managed, IS_MANAGED, address);
  attributes->type = managed ? MANAGED : (int)kind;
  if (driver::cuPointerGetAttribute(&attributes->device, ORDINAL, address)) attributes->device = current_device();
  driver::cuPointerGetAttribute((void *)&attributes->device_pointer, DEVICE_POINTER, address);
  attributes->host_pointer = nullptr;
  if (attributes->type != DEVICE &&
      driver::cuPointerGetAttribute((void *)&attributes->host_pointer, HOST_POINTER, address))
    attributes->host_pointer = (void *)address;
  return SUCCESS;
}

}  // namespace

API Error cudaMalloc(void **pointer, size_t bytes) {
  if (!pointer) return remember(INVALID_VALUE);
  *pointer = nullptr;
  return call([&] { return bytes ? driver::cuMemAlloc_v2((Address *)pointer, bytes) : SUCCESS; });
}

API Error cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  if (!pointer || !pitch) return remember(INVALID_VALUE);
  *pointer = nullptr;
  *pitch = 0;
  if (!width || !height) return call([] { return SUCCESS; });
  return call([&] { return driver::cuMemAllocPitch_v2((Address *)pointer, pitch, width, height, 4); });
}

API Error cudaMalloc3D(PitchedPointer *pointer, Extent extent) {
  if (!pointer) return remember(INVALID_VALUE);
  *pointer = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&pointer->pointer, &pointer->pitch, extent.width, extent.height * extent.depth);
}

API Error cudaMallocManaged(void **pointer, size_t bytes, u32 flags) {
  if (!pointer || !bytes) return remember(INVALID_VALUE);
  return call([&] { return driver::cuMemAllocManaged((Address *)pointer, bytes, flags); });
}

API Error cudaFree(void *pointer) {
  return call([&] { return pointer ? driver::cuMemFree_v2((Address)pointer) : SUCCESS; });
}

API Error cudaHostAlloc(void **pointer, size_t bytes, u32 flags) {
  if (!pointer) return remember(INVALID_VALUE);
  *pointer = nullptr;
  return call([&] { return bytes ? driver::cuMemHostAlloc(pointer, bytes, flags) : SUCCESS; });
}

API Error cudaMallocHost(void **pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }

API Error cudaFreeHost(void *pointer) {
  return call([&] { return pointer ? driver::cuMemFreeHost(pointer) : SUCCESS; });
}

API Error cudaHostRegister(void *pointer, size_t bytes, u32 flags) {
  return call([&] { return driver::cuMemHostRegister_v2(pointer, bytes, flags); });
}

API Error cudaHostUnregister(void *pointer) {
  return call([&] { return driver::cuMemHostUnregister(pointer); });
}

API Error cudaHostGetDevicePointer(void **device, void *host, u32 flags) {
  return call([&] { return driver::cuMemHostGetDevicePointer_v2((Address *)device, host, flags); });
}

API Error cudaHostGetFlags(u32 *flags, void *host) {
  return call([&] { return driver::cuMemHostGetFlags(flags, host); });
}

API Error cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  return call([&] { return driver::cuMemGetInfo_v2(free_bytes, total_bytes); });
}

API Error cudaPointerGetAttributes(PointerAttributes *attributes, const void *pointer) {
  if (!attributes) return remember(INVALID_VALUE);
  return call([&] { return attributes_of(attributes, (Address)pointer); });
}

// ** managed memory

static Error advise(const void *pointer, size_t bytes, int advice, Location location) {
  return call([&] { return driver::cuMemAdvise_v2((Address)pointer, bytes, advice, location); });
}

static Error prefetch(const void *pointer, size_t bytes, Location location, u32 flags, Stream stream) {
  return call([&] { return driver::cuMemPrefetchAsync_v2((Address)pointer, bytes, location, flags, stream); });
}

#if CUDART_MAJOR == 12
API Error cudaMemAdvise(const void *pointer, size_t bytes, int advice, int device) {
  return advise(pointer, bytes, advice, location_of(device));
}
API Error cudaMemAdvise_v2(const void *pointer, size_t bytes, int advice, Location location) {
  return advise(pointer, bytes, advice, location);
}
API Error cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, Stream stream) {
  return prefetch(pointer, bytes, location_of(device), 0, stream);
}
API Error cudaMemPrefetchAsync_v2(const void *pointer, size_t bytes, Location location, u32 flags, Stream stream) {
  return prefetch(pointer, bytes, location, flags, stream);
}
PER_THREAD(cudaMemPrefetchAsync_v2);
#else
API Error cudaMemAdvise(const void *pointer, size_t bytes, int advice, Location location) {
  return advise(pointer, bytes, advice, location);
}
API Error cudaMemPrefetchAsync(const void *pointer, size_t bytes, Location location, u32 flags, Stream stream) {
  return prefetch(pointer, bytes, location, flags, stream);
}
#endif
PER_THREAD(cudaMemPrefetchAsync);

API Error cudaMemRangeGetAttribute(void *data, size_t data_bytes, Attribute attribute, const void *pointer,
                                   size_t bytes) {
  return call([&] { return driver::cuMemRangeGetAttribute(data, data_bytes, attribute, (Address)pointer, bytes); });
}

API Error cudaMemRangeGetAttributes(void **data, size_t *data_bytes, Attribute *attributes, size_t count,
                                    const void *pointer, size_t bytes) {
  return call(
      [&] { return driver::cuMemRangeGetAttributes(data, data_bytes, attributes, count, (Address)pointer, bytes); });
}

API Error cudaStreamAttachMemAsync(Stream stream, void *pointer, size_t bytes, u32 flags) {
  return call([&] { return driver::cuStreamAttachMemAsync(stream, (Address)pointer, bytes, flags); });
}
PER_THREAD(cudaStreamAttachMemAsync);
