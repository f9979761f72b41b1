// Multicast objects of one device: memory is bound to them, and where they are mapped are multimem addresses of it.
// CUDA driver API: multicast object management.  PTX ISA 8.2.3.
#include "contexts.h"
#include "helper.h"
#include "in_process.h"
#include "memory.h"
#include "pieces.h"
#include "virtual_memory.h"

namespace driver {
namespace {

// CUmulticastObjectProp.
struct Properties {
  u32 devices;
  u64 bytes, handle_types, flags;
};

struct Binding {
  Multicast *object;
  u64 offset, bytes;
  Physical *memory;
  u64 memory_offset;
  u64 end() const { return offset + bytes; }
};
struct Row {
  Address start;
  u64 bytes;
  Address target;
};
Vector<Binding> bindings;
Vector<Row> shown;

void add_rows(Address start, u64 bytes, Multicast *object) {
  for (Binding &each : bindings)
    if (each.object == object && each.offset < bytes) {
      u64 count = (each.end() < bytes ? each.end() : bytes) - each.offset;
      shown.add({start + each.offset, count, address_of(each.memory) + each.memory_offset});
    }
}

void show_object(Object *object, void *) { visit_mappings_of((Multicast *)object, add_rows); }

void remove_binding(u64 at) {
  Binding gone = bindings[at];
  bindings.remove(at);
  --gone.memory->uses;
  drop_if_unused(gone.memory);
}

Result bind(Multicast *object, u64 offset, Physical *memory, u64 memory_offset, u64 bytes, u64 flags) {
  REFUSE_IF(!object || !object->holders || !memory || flags, INVALID_VALUE);
  REFUSE_IF(!is_in_units(bytes) || offset % VIRTUAL_UNIT || memory_offset % VIRTUAL_UNIT, INVALID_VALUE);
  REFUSE_IF(offset + bytes > object->bytes || memory_offset + bytes > memory->bytes, INVALID_VALUE);
  for (Binding &each : bindings)
    REFUSE_IF(each.object == object && each.offset < offset + bytes && offset < each.end(), INVALID_VALUE);
  if (!object->has_device) {
    tell("memory is bound to a multicast object before cuMulticastAddDevice: CUDA waits here for the device");
    return ILLEGAL_STATE;
  }
  bindings.add({object, offset, bytes, memory, memory_offset});
  ++memory->uses;
  show_multimem();
  return SUCCESS;
}

}  // namespace

void unbind_all(Multicast *object) {
  for (u64 at = bindings.count; at--;)
    if (bindings[at].object == object) remove_binding(at);
}

void show_multimem() {
  for (Row &each : shown) forget_multimem(each.start);
  shown.clear();
  for_each(Kind::MULTICAST, show_object, nullptr);
  for (Row &each : shown) note_multimem(each.start, each.bytes, each.target);
}

void for_each_multimem(void (*visit)(Address start, u64 bytes, Address target)) {
  for (Row &each : shown) visit(each.start, each.bytes, each.target);
}

}  // namespace driver

using namespace driver;

#define ENTER_MULTICAST \
  ENTER; \
  if (is_in_process()) return unsupported(__func__)

API(cuMulticastGetGranularity)(u64 *granularity, const Properties *properties, u32 option) {
  ENTER_MULTICAST;
  REFUSE_IF(!granularity || !properties || option > 1, INVALID_VALUE);
  *granularity = VIRTUAL_UNIT;
  return SUCCESS;
}

API(cuMulticastCreate)(Multicast **made, const Properties *properties) {
  ENTER_MULTICAST;
  REFUSE_IF(!made || !properties || !properties->devices || properties->flags, INVALID_VALUE);
  REFUSE_IF(!is_in_units(properties->bytes), INVALID_VALUE);
  if (properties->devices > 1) return unsupported("cuMulticastCreate for several devices: there is one");
  if (properties->handle_types) return unsupported("cuMulticastCreate of an object for other processes");
  *made = make<Multicast>();
  (*made)->bytes = properties->bytes, (*made)->holders = 1;
  return SUCCESS;
}

API(cuMulticastAddDevice)(Multicast *object, int device) {
  ENTER_MULTICAST;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!of<Multicast>(object) || object->has_device, INVALID_VALUE);
  object->has_device = true;
  return SUCCESS;
}

API(cuMulticastBindMem)(Multicast *object, u64 offset, Physical *memory, u64 memory_offset, u64 bytes, u64 flags) {
  ENTER_MULTICAST;
  return bind(of<Multicast>(object), offset, of<Physical>(memory), memory_offset, bytes, flags);
}

API(cuMulticastBindAddr)(Multicast *object, u64 offset, Address start, u64 bytes, u64 flags) {
  ENTER_MULTICAST;
  u64 memory_offset = 0;
  Physical *memory = mapped_at(start, &memory_offset);
  if (!memory) return unsupported("cuMulticastBindAddr of memory that is not mapped by cuMemMap");
  return bind(of<Multicast>(object), offset, memory, memory_offset, bytes, flags);
}

API(cuMulticastUnbind)(Multicast *object, int device, u64 offset, u64 bytes) {
  ENTER_MULTICAST;
  REFUSE_IF(device, INVALID_DEVICE);
  Context *context = current();
  if (Result bad = context ? wait_for_all(context) : SUCCESS) return bad;
  for (u64 at = 0; at < bindings.count; ++at)
    if (bindings[at].object == object && bindings[at].offset == offset && bindings[at].bytes == bytes) {
      remove_binding(at);
      show_multimem();
      return SUCCESS;
    }
  return INVALID_VALUE;
}
