// Virtual memory: addresses are reserved, memory is made, and mapped where programs choose. Both are places of the
// arena's file: a mapping shows pages of one place at another, in the program and in its helper.  CUDA driver API:
// virtual memory management.
#include <sys/mman.h>

#include "arena.h"
#include "in_process.h"
#include "memory.h"
#include "order.h"
#include "pieces.h"
#include "virtual_memory.h"

namespace driver {
namespace {

enum : u32 { PINNED = 1, ON_DEVICE = 1 };                    // CUmemAllocationType, CUmemLocationType
enum : u32 { NO_ACCESS = 0, READ = 1, READ_AND_WRITE = 3 };  // CUmemAccess_flags

struct Location {
  u32 kind;
  int id;
};

// CUmemAllocationProp and CUmemAccessDesc.
struct Properties {
  u32 kind, handle_types;
  Location location;
  void *security;
  u8 compression, direct;
  u16 usage;
  u8 reserved[4];
};
struct AccessRow {
  Location location;
  u32 flags;
};

struct Reservation {
  Address start;
  u64 bytes;
};
struct Mapping {
  Address start;
  u64 bytes;
  Mappable *what;
  u32 access;
  Physical *memory() const { return of<Physical>(what); }  // nullptr: it is a multicast object
  bool is_usable() const { return memory() && access != NO_ACCESS; }
  Address end() const { return start + bytes; }
};
Vector<Reservation> reservations;
Vector<Mapping> mappings;  // in the order of their addresses

bool is_device(const Location &location) { return location.kind == ON_DEVICE && !location.id; }

// Show the pages at `source` of the arena at `start` too; also the bytes about them.
bool show(Address start, u64 bytes, Address source) {
  for (u64 more = 0; more <= (follows_writes() ? WRITTEN_AFTER : 0); more += WRITTEN_AFTER) {
    u64 offset = source - arena() + more;
    void *at = (void *)(start + more);
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, arena_file(), (off_t)offset) !=
        at)
      return false;
    madvise(at, bytes, MADV_DONTFORK);
    madvise(at, bytes, MADV_DONTDUMP);
  }
  return true;
}

Reservation *reservation_of(Address start, u64 bytes) {
  for (Reservation &each : reservations)
    if (start >= each.start && start + bytes <= each.start + each.bytes) return &each;
  return nullptr;
}

// The mappings that are exactly the addresses of a range: from `first` on, `count`; false if there are others.
bool mappings_of(Address start, u64 bytes, u64 *first, u64 *count) {
  *count = 0;
  Address at = start;
  for (u64 i = 0; i < mappings.count && at < start + bytes; ++i) {
    if (mappings[i].start != at) continue;
    if (!*count) *first = i;
    at = mappings[i].end(), ++*count;
  }
  return at == start + bytes;
}

// Neighbours that may be used are one block, so that a copy or an array may be in several.
void show_blocks(const Reservation &all) {
  remove_virtual(all.start, all.bytes);
  Address start = 0, end = 0;
  for (Mapping &each : mappings) {
    if (each.start < all.start || each.end() > all.start + all.bytes || !each.is_usable()) continue;
    if (each.start != end) {
      if (start) add_virtual(start, end - start);
      start = each.start;
    }
    end = each.end();
  }
  if (start) add_virtual(start, end - start);
}

}  // namespace

void for_each_mapping(void (*visit)(Address start, u64 bytes, Address source)) {
  for (Mapping &each : mappings)
    if (Physical *memory = each.memory()) visit(each.start, each.bytes, memory->start);
}

Mappable *mappable(const void *handle) {
  Mappable *found = of<Physical>(handle);
  if (!found) found = of<Multicast>(handle);
  return found && found->holders ? found : nullptr;
}

Physical *mapped_at(Address start, u64 *offset) {
  for (Mapping &each : mappings)
    if (start >= each.start && start < each.end()) {
      *offset = start - each.start;
      return each.memory();
    }
  return nullptr;
}

Address address_of(Physical *memory) {
  for (Mapping &each : mappings)
    if (each.what == memory && each.is_usable() && each.bytes == memory->bytes) return each.start;
  return memory->start;
}

void visit_mappings_of(Multicast *object, void (*visit)(Address start, u64 bytes, Multicast *object)) {
  for (Mapping &each : mappings)
    if (each.what == object && each.access != NO_ACCESS) visit(each.start, each.bytes, object);
}

void drop_if_unused(Mappable *gone) {
  if (gone->holders || gone->uses) return;
  if (Physical *memory = of<Physical>(gone)) give_place(memory->start, memory->bytes);
  else unbind_all((Multicast *)gone);
  drop_object(gone);
}

}  // namespace driver

using namespace driver;

#define ENTER_VIRTUAL \
  ENTER; \
  if (is_in_process()) return unsupported(__func__)

API(cuMemGetAllocationGranularity)(u64 *granularity, const Properties *properties, u32) {
  ENTER_VIRTUAL;
  REFUSE_IF(!granularity || !properties || !is_device(properties->location), INVALID_VALUE);
  *granularity = VIRTUAL_UNIT;
  return SUCCESS;
}

API(cuMemAddressReserve)(Address *made, u64 bytes, u64 alignment, Address, u64 flags) {
  ENTER_VIRTUAL;
  REFUSE_IF(!made || !is_in_units(bytes) || flags || (alignment & (alignment - 1)), INVALID_VALUE);
  if (Result bad = take_place(made, bytes, alignment > VIRTUAL_UNIT ? alignment : VIRTUAL_UNIT)) return bad;
  reservations.add({*made, bytes});
  return SUCCESS;
}

API(cuMemAddressFree)(Address start, u64 bytes) {
  ENTER_VIRTUAL;
  for (Mapping &each : mappings) REFUSE_IF(each.start < start + bytes && start < each.end(), INVALID_VALUE);
  for (u64 at = 0; at < reservations.count; ++at)
    if (reservations[at].start == start && reservations[at].bytes == bytes) {
      reservations.remove(at);
      give_place(start, bytes);
      return SUCCESS;
    }
  return INVALID_VALUE;
}

API(cuMemCreate)(Physical **made, u64 bytes, const Properties *properties, u64 flags) {
  ENTER_VIRTUAL;
  REFUSE_IF(!made || !properties || flags || !is_in_units(bytes), INVALID_VALUE);
  REFUSE_IF(properties->kind != PINNED || !is_device(properties->location), INVALID_VALUE);
  if (properties->handle_types) return unsupported("cuMemCreate of memory for other processes");
  Address start;
  if (Result bad = take_place(&start, bytes, VIRTUAL_UNIT)) return bad;
  *made = make<Physical>();
  (*made)->start = start, (*made)->bytes = bytes, (*made)->holders = 1;
  return SUCCESS;
}

API(cuMemRelease)(const void *handle) {
  ENTER_VIRTUAL;
  Mappable *released = mappable(handle);
  REFUSE_IF(!released, INVALID_VALUE);
  --released->holders;
  drop_if_unused(released);
  return SUCCESS;
}

API(cuMemMap)(Address start, u64 bytes, u64 offset, const void *handle, u64 flags) {
  ENTER_VIRTUAL;
  Mappable *what = mappable(handle);
  REFUSE_IF(!what || flags || offset, INVALID_VALUE);
  REFUSE_IF(start % VIRTUAL_UNIT || !is_in_units(bytes) || bytes > what->bytes, INVALID_VALUE);
  REFUSE_IF(!reservation_of(start, bytes), INVALID_VALUE);
  u64 at = 0;
  for (Mapping &each : mappings) {
    REFUSE_IF(each.start < start + bytes && start < each.end(), INVALID_VALUE);
    at += each.start < start;
  }
  if (Physical *memory = of<Physical>(what)) {
    REFUSE_IF(!show(start, bytes, memory->start), OUT_OF_MEMORY);
    note_mapping(start, bytes, memory->start);
  }
  mappings.insert(at, {start, bytes, what, NO_ACCESS});
  ++what->uses;
  return SUCCESS;
}

API(cuMemUnmap)(Address start, u64 bytes) {
  ENTER_VIRTUAL;
  Context *context = current();
  if (Result bad = context ? wait_for_all(context) : SUCCESS) return bad;
  u64 first, count;
  REFUSE_IF(!mappings_of(start, bytes, &first, &count), INVALID_VALUE);
  for (; count; --count) {
    Mapping gone = mappings[first];
    mappings.remove(first);
    if (gone.memory()) show(gone.start, gone.bytes, gone.start);
    --gone.what->uses;
    drop_if_unused(gone.what);
  }
  show_blocks(*reservation_of(start, bytes));
  show_multimem();
  note_mapping(start, bytes, start);
  return SUCCESS;
}

API(cuMemSetAccess)(Address start, u64 bytes, const AccessRow *rows, u64 row_count) {
  ENTER_VIRTUAL;
  REFUSE_IF(!rows || !row_count, INVALID_VALUE);
  u64 first, count;
  REFUSE_IF(!mappings_of(start, bytes, &first, &count), INVALID_VALUE);
  for (u64 row = 0; row < row_count; ++row) {
    u32 flags = rows[row].flags;
    REFUSE_IF(!is_device(rows[row].location), INVALID_DEVICE);
    REFUSE_IF(flags != NO_ACCESS && flags != READ && flags != READ_AND_WRITE, INVALID_VALUE);
    for (u64 i = first; i < first + count; ++i) mappings[i].access = flags;
  }
  show_blocks(*reservation_of(start, bytes));
  show_multimem();
  return SUCCESS;
}

API(cuMemGetAccess)(u64 *flags, const Location *location, Address address) {
  ENTER_VIRTUAL;
  REFUSE_IF(!flags || !location || !is_device(*location), INVALID_VALUE);
  for (Mapping &each : mappings)
    if (address >= each.start && address < each.end()) {
      *flags = each.access;
      return SUCCESS;
    }
  return INVALID_VALUE;
}

API(cuMemRetainAllocationHandle)(Mappable **handle, Address address) {
  ENTER_VIRTUAL;
  REFUSE_IF(!handle, INVALID_VALUE);
  for (Mapping &each : mappings)
    if (address >= each.start && address < each.end()) {
      ++each.what->holders;
      *handle = each.what;
      return SUCCESS;
    }
  return INVALID_VALUE;
}

API(cuMemGetAllocationPropertiesFromHandle)(Properties *properties, Physical *memory) {
  ENTER_VIRTUAL;
  REFUSE_IF(!properties || !of<Physical>(memory), INVALID_VALUE);
  *properties = {PINNED, 0, {ON_DEVICE, 0}, nullptr, 0, 0, 0, {}};
  return SUCCESS;
}
