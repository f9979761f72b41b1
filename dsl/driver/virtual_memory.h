// What handles of virtual memory name: memory, and multicast objects. Both can be mapped.
#pragma once
#include "objects.h"

namespace driver {

constexpr u64 VIRTUAL_UNIT = 2 << 20;
inline bool is_in_units(u64 bytes) { return bytes && bytes % VIRTUAL_UNIT == 0; }

struct Mappable : Object {
  u64 bytes;
  u32 uses, holders;  // `uses`: mappings, and what is bound; `holders`: handles of the program
};
struct Physical : Mappable {
  static constexpr Kind KIND = Kind::PHYSICAL;
  Address start;  // in the arena
};
struct Multicast : Mappable {
  static constexpr Kind KIND = Kind::MULTICAST;
  bool has_device;
};

// Virtual memory (virtual_memory.cc).
Mappable *mappable(const void *handle);          // nullptr if it is none, or nobody has its handle
Physical *mapped_at(Address start, u64 *offset);  // the memory that is mapped there
Address address_of(Physical *memory);             // where it may be used; if nowhere, its place in the arena
void visit_mappings_of(Multicast *object, void (*visit)(Address start, u64 bytes, Multicast *object));
void drop_if_unused(Mappable *gone);

// Multicast objects (multicast.cc).
void unbind_all(Multicast *object);
void show_multimem();  // after a change: tell the helper which addresses are multimem addresses, and of which memory

}  // namespace driver
