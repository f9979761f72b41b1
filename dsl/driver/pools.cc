// Pools, and allocation in the order of a stream. A pool only counts: memory goes back as soon as it is free.  CUDA driver API:
// stream ordered memory allocator.
#include "device.h"
#include "graphs.h"
#include "memory.h"
#include "pieces.h"

namespace driver {
namespace {

struct Pool : Object {
  static constexpr Kind KIND = Kind::POOL;
  u64 settings[16];  // by CUmemPool_attribute
  u64 high;
};

enum : u32 { THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8, ATTRIBUTES = 16 };

Pool *standard, *chosen;

Pool *default_pool() {
  if (!standard) {
    standard = make<Pool>();
    for (u32 each = 1; each <= 3; ++each) standard->settings[each] = 1;  // reuse policies
  }
  return standard;
}

Pool *current_pool() { return of<Pool>(chosen) ? chosen : default_pool(); }

Result allocate_of(Address *made, u64 nbytes, Pool *pool, void *stream) {
  if (!of<Pool>(pool) || !stream_of(stream)) return INVALID_HANDLE;
  if (stream_of(stream)->capture) {
    if (Result bad = reserve(made, nbytes)) return bad;
    return enqueue(stream, {Type::ALLOCATE, Allocation{*made, nbytes}});
  }
  if (Result bad = allocate(made, nbytes, Memory::DEVICE, 0, pool)) return bad;
  u64 used = used_bytes(pool);
  if (used > pool->high) pool->high = used;
  return enqueue(stream, {Type::ALLOCATE, Allocation{*made, nbytes}});
}

Result give(Pool **found, Pool *pool, int device) {
  if (device) return INVALID_DEVICE;
  if (!found) return INVALID_VALUE;
  *found = pool;
  return SUCCESS;
}

// CUmemLocation of memory that is the device's.
struct Location {
  u32 kind;
  int id;
};
bool is_device(const Location *location) { return location && location->kind == 1 && !location->id; }

}  // namespace
}  // namespace driver

using namespace driver;

API(cuMemAllocAsync)(Address *made, u64 nbytes, void *stream) {
  ENTER_CONTEXT;
  return allocate_of(made, nbytes, current_pool(), stream);
}

API(cuMemAllocFromPoolAsync)(Address *made, u64 nbytes, Pool *pool, void *stream) {
  ENTER_CONTEXT;
  return allocate_of(made, nbytes, pool, stream);
}

API(cuMemFreeAsync)(Address address, void *handle) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  if (!address) return SUCCESS;
  Block *block = stream->capture ? reserved(address) : block_of(address);
  REFUSE_IF(!block || block->start != address || !is_owned(block->memory), INVALID_VALUE);
  if (!stream->capture) block->is_taken = false;
  return enqueue(handle, {Type::FREE, Allocation{address, block->bytes}});
}

API(cuDeviceGetDefaultMemPool)(Pool **found, int device) {
  ENTER;
  return give(found, default_pool(), device);
}

API(cuDeviceGetMemPool)(Pool **found, int device) {
  ENTER;
  return give(found, current_pool(), device);
}

API(cuDeviceSetMemPool)(int device, Pool *pool) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!of<Pool>(pool), INVALID_HANDLE);
  chosen = pool;
  return SUCCESS;
}

API(cuMemGetDefaultMemPool)(Pool **found, const Location *location, u32) {
  ENTER;
  REFUSE_IF(!is_device(location), unsupported("cuMemGetDefaultMemPool of memory of the host"));
  return give(found, default_pool(), 0);
}

API(cuMemGetMemPool)(Pool **found, const Location *location, u32) {
  ENTER;
  REFUSE_IF(!is_device(location), unsupported("cuMemGetMemPool of memory of the host"));
  return give(found, current_pool(), 0);
}

API(cuMemSetMemPool)(const Location *location, u32, Pool *pool) {
  REFUSE_IF(!is_device(location), unsupported("cuMemSetMemPool of memory of the host"));
  return cuDeviceSetMemPool(0, pool);
}

// CUmemPoolProps begins with the kind of allocation and the kinds of handles for other processes.
API(cuMemPoolCreate)(Pool **made, const u32 *properties) {
  ENTER;
  REFUSE_IF(!made || !properties, INVALID_VALUE);
  REFUSE_IF(properties[1], unsupported("cuMemPoolCreate for other processes"));
  *made = make<Pool>();
  return SUCCESS;
}

API(cuMemPoolDestroy)(Pool *pool) {
  ENTER;
  REFUSE_IF(!of<Pool>(pool) || pool == standard, INVALID_HANDLE);
  drop_object(pool);
  return SUCCESS;
}

API(cuMemPoolTrimTo)(Pool *pool, u64) {
  ENTER;
  return of<Pool>(pool) ? SUCCESS : INVALID_HANDLE;
}

API(cuMemPoolSetAttribute)(Pool *pool, u32 which, const void *value) {
  ENTER;
  REFUSE_IF(!of<Pool>(pool), INVALID_HANDLE);
  REFUSE_IF(!value || !which || which >= ATTRIBUTES, INVALID_VALUE);
  if (which == RESERVED_HIGH || which == USED_HIGH) pool->high = used_bytes(pool);
  else if (which == THRESHOLD) pool->settings[which] = *(const u64 *)value;
  else pool->settings[which] = *(const u32 *)value;
  return SUCCESS;
}

API(cuMemPoolGetAttribute)(Pool *pool, u32 which, void *value) {
  ENTER;
  REFUSE_IF(!of<Pool>(pool), INVALID_HANDLE);
  REFUSE_IF(!value || !which || which >= ATTRIBUTES, INVALID_VALUE);
  if (which == RESERVED || which == USED) *(u64 *)value = used_bytes(pool);
  else if (which == RESERVED_HIGH || which == USED_HIGH) *(u64 *)value = pool->high;
  else if (which == THRESHOLD) *(u64 *)value = pool->settings[which];
  else *(u32 *)value = (u32)pool->settings[which];
  return SUCCESS;
}

API(cuMemPoolSetAccess)(Pool *pool, const void *, u64) {
  ENTER;
  return of<Pool>(pool) ? SUCCESS : INVALID_HANDLE;
}

API(cuMemPoolGetAccess)(u32 *flags, Pool *pool, const Location *location) {
  ENTER;
  REFUSE_IF(!of<Pool>(pool), INVALID_HANDLE);
  REFUSE_IF(!flags, INVALID_VALUE);
  *flags = is_device(location) ? 3 : 0;  // read and write
  return SUCCESS;
}
