// What is asked of memory by its address.  CUDA driver API: unified addressing.
#include "memory.h"
#include "registered.h"
#include "streams.h"

namespace driver {
namespace {

// CUpointer_attribute
enum : u32 {
  CONTEXT = 1,
  MEMORY_TYPE = 2,
  DEVICE_POINTER = 3,
  HOST_POINTER = 4,
  P2P_TOKENS = 5,
  SYNCHRONIZES = 6,
  BUFFER_ID = 7,
  IS_MANAGED = 8,
  DEVICE_ORDINAL = 9,
  IPC_CAPABLE = 10,
  RANGE_START = 11,
  RANGE_BYTES = 12,
  MAPPED = 13,
  HANDLE_TYPES = 14,
  GPUDIRECT = 15,
  ACCESS = 16,
  POOL = 17,
  ATTRIBUTES = 22,
};
constexpr u32 HOST_TYPE = 1, DEVICE_TYPE = 2;
constexpr int NO_DEVICE_ORDINAL = -2;

template <class T> Result put(void *at, T value) { return memcpy(at, &value, sizeof value), SUCCESS; }

Result get(void *value, u32 which, Address address) {
  Block *block = block_of(address);
  bool is_host = block && block->memory == Memory::HOST, is_managed = block && block->memory == Memory::MANAGED;
  switch (which) {
    case CONTEXT: return block ? put(value, (u64)block->owner) : INVALID_VALUE;
    case MEMORY_TYPE:
      if (registered_of(address)) return put(value, HOST_TYPE);
      return block ? put(value, is_host ? HOST_TYPE : DEVICE_TYPE) : INVALID_VALUE;
    case DEVICE_POINTER: {
      Registered *memory = registered_of(address);
      if (memory && memory->device) return put(value, memory->device + (address - memory->start));
      return block ? put(value, address) : INVALID_VALUE;
    }
    case HOST_POINTER: return is_host || is_managed || registered_of(address) ? put(value, address) : INVALID_VALUE;
    case SYNCHRONIZES: return put(value, (u32)1);
    case BUFFER_ID: return block ? put(value, block->id) : INVALID_VALUE;
    case IS_MANAGED: return put(value, (u32)is_managed);
    case DEVICE_ORDINAL: return put(value, block || registered_of(address) ? 0 : NO_DEVICE_ORDINAL);
    case IPC_CAPABLE: return put(value, (u32)0);
    case RANGE_START: return block ? put(value, block->start) : INVALID_VALUE;
    case RANGE_BYTES: return block ? put(value, block->bytes) : INVALID_VALUE;
    case MAPPED: return put(value, (u32)(block != nullptr));
    case HANDLE_TYPES: return put(value, (u64)0);
    case GPUDIRECT: return put(value, (u32)0);
    case ACCESS: return put(value, (u32)(block ? 3 : 0));
    case POOL: return put(value, (u64)(block ? block->pool : nullptr));
    default: return INVALID_VALUE;
  }
}

// Bytes of an attribute's value.
u32 bytes_of(u32 which) {
  switch (which) {
    case MEMORY_TYPE:
    case SYNCHRONIZES:
    case IS_MANAGED:
    case DEVICE_ORDINAL:
    case IPC_CAPABLE:
    case MAPPED:
    case GPUDIRECT:
    case ACCESS: return 4;
    default: return 8;
  }
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuPointerGetAttribute)(void *value, u32 which, Address address) {
  ENTER;
  REFUSE_IF(!value, INVALID_VALUE);
  return get(value, which, address);
}

// An attribute that the memory does not have is 0, the device of unknown memory -2.
API(cuPointerGetAttributes)(u32 count, const u32 *which, void **values, Address address) {
  ENTER;
  REFUSE_IF(!which || !values, INVALID_VALUE);
  for (u32 i = 0; i < count; ++i) {
    REFUSE_IF(!which[i] || which[i] >= ATTRIBUTES, INVALID_VALUE);
    memset(values[i], 0, bytes_of(which[i]));
    get(values[i], which[i], address);
  }
  return SUCCESS;
}

API(cuPointerSetAttribute)(const void *value, u32 which, Address address) {
  ENTER_CONTEXT;
  REFUSE_IF(!value || which != SYNCHRONIZES || !block_of(address), INVALID_VALUE);
  return SUCCESS;
}
