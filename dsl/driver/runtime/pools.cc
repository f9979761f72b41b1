// Allocation in the order of a stream, and the pools it takes memory from.
#include "runtime.h"

DRIVER(cuMemAllocAsync, Address *, size_t, Stream)
DRIVER(cuMemAllocFromPoolAsync, Address *, size_t, Pool, Stream)
DRIVER(cuMemFreeAsync, Address, Stream)
DRIVER(cuDeviceGetDefaultMemPool, Pool *, int)
DRIVER(cuDeviceGetMemPool, Pool *, int)
DRIVER(cuDeviceSetMemPool, int, Pool)
DRIVER(cuDeviceGetGraphMemAttribute, int, Attribute, void *)
DRIVER(cuDeviceSetGraphMemAttribute, int, Attribute, void *)
DRIVER(cuDeviceGraphMemTrim, int)
DRIVER(cuMemGetDefaultMemPool, Pool *, Location *, int)
DRIVER(cuMemGetMemPool, Pool *, Location *, int)
DRIVER(cuMemSetMemPool, Location *, int, Pool)
DRIVER(cuMemPoolCreate, Pool *, const void *)
DRIVER(cuMemPoolDestroy, Pool)
DRIVER(cuMemPoolGetAttribute, Pool, Attribute, void *)
DRIVER(cuMemPoolSetAttribute, Pool, Attribute, void *)
DRIVER(cuMemPoolGetAccess, int *, Pool, Location *)
DRIVER(cuMemPoolSetAccess, Pool, const void *, size_t)
DRIVER(cuMemPoolTrimTo, Pool, size_t)

API Error cudaMallocAsync(void **pointer, size_t bytes, Stream stream) {
  if (!pointer) return remember(INVALID_VALUE);
  *pointer = nullptr;
  return call([&] { return bytes ? driver::cuMemAllocAsync((Address *)pointer, bytes, stream) : SUCCESS; });
}
PER_THREAD(cudaMallocAsync);

API Error cudaMallocFromPoolAsync(void **pointer, size_t bytes, Pool pool, Stream stream) {
  return call([&] { return driver::cuMemAllocFromPoolAsync((Address *)pointer, bytes, pool, stream); });
}
PER_THREAD(cudaMallocFromPoolAsync);

API Error cudaFreeAsync(void *pointer, Stream stream) {
  return call([&] { return pointer ? driver::cuMemFreeAsync((Address)pointer, stream) : SUCCESS; });
}
PER_THREAD(cudaFreeAsync);

API Error cudaDeviceGetDefaultMemPool(Pool *pool, int device) {
  return call([&] { return driver::cuDeviceGetDefaultMemPool(pool, device); });
}

API Error cudaDeviceGetMemPool(Pool *pool, int device) {
  return call([&] { return driver::cuDeviceGetMemPool(pool, device); });
}

API Error cudaDeviceSetMemPool(int device, Pool pool) {
  return call([&] { return driver::cuDeviceSetMemPool(device, pool); });
}

API Error cudaDeviceGetGraphMemAttribute(int device, Attribute attribute, void *value) {
  return call([&] { return driver::cuDeviceGetGraphMemAttribute(device, attribute, value); });
}

API Error cudaDeviceSetGraphMemAttribute(int device, Attribute attribute, void *value) {
  return call([&] { return driver::cuDeviceSetGraphMemAttribute(device, attribute, value); });
}

API Error cudaDeviceGraphMemTrim(int device) {
  return call([&] { return driver::cuDeviceGraphMemTrim(device); });
}

API Error cudaMemPoolCreate(Pool *pool, const void *properties) {
  return call([&] { return driver::cuMemPoolCreate(pool, properties); });
}

API Error cudaMemPoolDestroy(Pool pool) {
  return call([&] { return driver::cuMemPoolDestroy(pool); });
}

API Error cudaMemPoolGetAttribute(Pool pool, Attribute attribute, void *value) {
  return call([&] { return driver::cuMemPoolGetAttribute(pool, attribute, value); });
}

API Error cudaMemPoolSetAttribute(Pool pool, Attribute attribute, void *value) {
  return call([&] { return driver::cuMemPoolSetAttribute(pool, attribute, value); });
}

API Error cudaMemPoolGetAccess(int *flags, Pool pool, Location *location) {
  return call([&] { return driver::cuMemPoolGetAccess(flags, pool, location); });
}

API Error cudaMemPoolSetAccess(Pool pool, const void *descriptions, size_t count) {
  return call([&] { return driver::cuMemPoolSetAccess(pool, descriptions, count); });
}

API Error cudaMemPoolTrimTo(Pool pool, size_t bytes) {
  return call([&] { return driver::cuMemPoolTrimTo(pool, bytes); });
}

#if CUDART_MAJOR >= 13
API Error cudaMemGetDefaultMemPool(Pool *pool, Location *location, int kind) {
  return call([&] { return driver::cuMemGetDefaultMemPool(pool, location, kind); });
}

API Error cudaMemGetMemPool(Pool *pool, Location *location, int kind) {
  return call([&] { return driver::cuMemGetMemPool(pool, location, kind); });
}

API Error cudaMemSetMemPool(Location *location, int kind, Pool pool) {
  return call([&] { return driver::cuMemSetMemPool(location, kind, pool); });
}
#endif
