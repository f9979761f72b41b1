#include "objects.h"

#include <sys/mman.h>

namespace driver {
namespace {

constexpr u64 ROOM = 1ull << 28, ALIGNMENT = 64;  // of addresses, of which only used pages cost memory
u8 *start;
u64 used, next_id = 16;
Vector<Object *> dropped[(u32)Kind::COUNT];

}  // namespace

Object *make_object(Kind kind, u64 bytes) {
  Vector<Object *> &old = dropped[(u32)kind];
  Object *made;
  if (old.count) {
    made = old.data[0];  // that was dropped first, so that stale handles are noticed for long
    old.remove(0);
    memset((void *)made, 0, bytes);
  } else {
    if (!start) {
      void *memory = mmap(nullptr, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) abort();
      start = (u8 *)memory;
    }
    if (used + bytes > ROOM) abort();
    made = (Object *)(start + used);
    used += round_up(bytes, ALIGNMENT);
  }
  made->kind = kind, made->room = (u32)round_up(bytes, ALIGNMENT), made->id = next_id++;
  return made;
}

Object *object_of(const void *handle, Kind kind) {
  u64 at = (u64)handle - (u64)start;
  if (!start || at >= used || at % ALIGNMENT) return nullptr;
  Object *object = (Object *)handle;
  return object->kind == kind ? object : nullptr;
}

void drop_object(Object *object) {
  dropped[(u32)object->kind].add(object);
  object->kind = Kind::NONE;
}

void for_each(Kind kind, void (*visit)(Object *, void *), void *argument) {
  for (u64 at = 0; at < used;) {
    Object *object = (Object *)(start + at);
    at += object->room;
    if (object->kind == kind) visit(object, argument);
  }
}

}  // namespace driver
