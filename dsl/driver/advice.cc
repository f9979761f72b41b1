// What a program advises of managed memory, and what it asks of that later. Nothing moves: advice is kept for the
// answers.  CUDA driver API: unified memory.
#include "memory.h"
#include "streams.h"

namespace driver {
namespace {

// CUmemLocation
struct Location {
  u32 kind;
  int id;
};
enum : u32 { NOWHERE, DEVICE, HOST };
constexpr int CPU = -1, INVALID_ID = -2;

enum : u32 { READ_MOSTLY = 1, PREFERRED = 2, ACCESSED_BY = 3, LAST_PREFETCH = 4 };  // CUmem_range_attribute
enum : u32 { PREFERRED_KIND = 5, PREFERRED_ID, PREFETCH_KIND, PREFETCH_ID };

struct Advice {
  u64 block;  // its id
  Address start, end;
  u32 what;
  Location value;  // READ_MOSTLY: kind 1; no longer: kind 0
};
Vector<Advice> all;  // the last one counts

Result note(Address address, u64 nbytes, u32 what, Location value) {
  if (!nbytes || !holds(address, nbytes)) return INVALID_VALUE;
  all.add({block_of(address)->id, address, address + nbytes, what, value});
  return SUCCESS;
}

Location at(Address address, u32 what) {
  Block *block = block_of(address);
  for (u64 i = all.count; i--;)
    if (all[i].what == what && all[i].block == block->id && address >= all[i].start && address < all[i].end)
      return all[i].value;
  return {NOWHERE, 0};
}

// The same for all of a range, or nowhere.
Location of_range(Address address, u64 nbytes, u32 what) {
  Location first = at(address, what);
  auto differs = [&](Address edge) {
    if (edge <= address || edge >= address + nbytes) return false;
    Location other = at(edge, what);
    return other.kind != first.kind || other.id != first.id;
  };
  for (const Advice &each : all)
    if (differs(each.start) || differs(each.end)) return {NOWHERE, 0};
  return first;
}

int number(Location location) {
  return location.kind == DEVICE ? location.id : location.kind == HOST ? CPU : INVALID_ID;
}

Result get(int *value, u64 value_bytes, u32 which, Address address, u64 nbytes) {
  Block *block = block_of(address);
  if (!value || value_bytes < 4 || !nbytes || !holds(address, nbytes)) return INVALID_VALUE;
  if (block->memory != Memory::MANAGED) return INVALID_VALUE;
  u32 what = which == PREFERRED_KIND || which == PREFERRED_ID ? PREFERRED
             : which == PREFETCH_KIND || which == PREFETCH_ID ? LAST_PREFETCH
                                                              : which;
  Location found = of_range(address, nbytes, what);
  switch (which) {
    case READ_MOSTLY: return *value = found.kind != NOWHERE, SUCCESS;
    case PREFERRED:
    case LAST_PREFETCH: return *value = number(found), SUCCESS;
    case ACCESSED_BY:
      for (u64 i = 0; i < value_bytes / 4; ++i) value[i] = i ? INVALID_ID : number(found);
      return SUCCESS;
    case PREFERRED_KIND:
    case PREFETCH_KIND: return *value = (int)found.kind, SUCCESS;
    case PREFERRED_ID:
    case PREFETCH_ID: return *value = found.kind == DEVICE ? found.id : INVALID_ID, SUCCESS;
    default: return INVALID_VALUE;
  }
}

Location of_number(int device) { return device == CPU ? Location{HOST, 0} : Location{DEVICE, device}; }

}  // namespace
}  // namespace driver

using namespace driver;

API(cuMemPrefetchAsync_v2)(Address address, u64 nbytes, Location to, u32, void *stream) {
  ENTER_CONTEXT;
  REFUSE_IF(!stream_of(stream), INVALID_HANDLE);
  return note(address, nbytes, LAST_PREFETCH, to);
}

API(cuMemPrefetchAsync)(Address address, u64 nbytes, int device, void *stream) {
  return cuMemPrefetchAsync_v2(address, nbytes, of_number(device), 0, stream);
}

// CUmem_advise: to set and to unset each of three attributes.
API(cuMemAdvise_v2)(Address address, u64 nbytes, u32 advice, Location location) {
  ENTER_CONTEXT;
  REFUSE_IF(!advice || advice > 2 * ACCESSED_BY, INVALID_VALUE);
  bool is_set = advice % 2;
  u32 what = (advice + 1) / 2;
  return note(address, nbytes, what,
              !is_set               ? Location{NOWHERE, 0}
              : what == READ_MOSTLY ? Location{DEVICE, 0}
                                    : location);
}

API(cuMemAdvise)(Address address, u64 nbytes, u32 advice, int device) {
  return cuMemAdvise_v2(address, nbytes, advice, of_number(device));
}

API(cuMemRangeGetAttribute)(void *value, u64 value_bytes, u32 which, Address address, u64 nbytes) {
  ENTER_CONTEXT;
  return get((int *)value, value_bytes, which, address, nbytes);
}

API(cuMemRangeGetAttributes)(void **values, u64 *value_bytes, const u32 *which, u64 count, Address address,
                             u64 nbytes) {
  ENTER_CONTEXT;
  REFUSE_IF(!values || !value_bytes || !which || !count, INVALID_VALUE);
  for (u64 i = 0; i < count; ++i)
    if (Result bad = get((int *)values[i], value_bytes[i], which[i], address, nbytes)) return bad;
  return SUCCESS;
}
