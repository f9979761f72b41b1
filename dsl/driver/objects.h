// Objects that programs know by handles. A handle is the object's address; objects are only in memory reserved for
// them, so that any number can be asked whether it is a handle.
#pragma once
#include "api.h"

namespace driver {

enum class Kind : u32 {
  NONE,
  CONTEXT,
  STREAM,
  EVENT,
  MODULE,
  FUNCTION,
  POOL,
  GRAPH,
  NODE,
  GRAPH_EXEC,
  LINK,
  ARRAY,
  PHYSICAL,
  MULTICAST,
  COUNT
};

// What every object begins with.
struct Object {
  Kind kind;
  u32 room;  // its bytes
  u64 id;
};

Object *make_object(Kind kind, u64 bytes);         // its bytes are 0
Object *object_of(const void *handle, Kind kind);  // nullptr if it is none
void drop_object(Object *object);

template <class T> T *make() { return (T *)make_object(T::KIND, sizeof(T)); }
template <class T> T *of(const void *handle) { return (T *)object_of(handle, T::KIND); }

// Call `visit` with each object of a kind.
void for_each(Kind kind, void (*visit)(Object *, void *), void *argument);

}  // namespace driver
