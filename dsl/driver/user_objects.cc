// Objects of the program that graphs hold: they end with the last reference.  CUDA driver API: graph management.
#include "graphs.h"

namespace driver {

void release(UserObject *object, u32 count) {
  if (object->count -= count) return;
  Unlocked unlocked;
  object->end(object->argument);
  free(object);
}

void hold_objects(Vector<Held> *objects, const Vector<Held> &more) {
  for (u64 i = 0; i < more.count; ++i) {
    more.data[i].object->count += more.data[i].count;
    objects->add(more.data[i]);
  }
}

void release_objects(Vector<Held> *objects) {
  for (const Held &each : *objects) release(each.object, each.count);
  objects->close();
}

}  // namespace driver

using namespace driver;

API(cuUserObjectCreate)(UserObject **made, void *argument, void (*end)(void *), u32 count, u32) {
  ENTER;
  REFUSE_IF(!made || !end || !count, INVALID_VALUE);
  *made = (UserObject *)calloc(1, sizeof(UserObject));
  **made = {end, argument, count};
  return SUCCESS;
}

API(cuUserObjectRetain)(UserObject *object, u32 count) {
  ENTER;
  REFUSE_IF(!object || !count, INVALID_VALUE);
  object->count += count;
  return SUCCESS;
}

API(cuUserObjectRelease)(UserObject *object, u32 count) {
  ENTER;
  REFUSE_IF(!object || !count || count > object->count, INVALID_VALUE);
  release(object, count);
  return SUCCESS;
}

API(cuGraphRetainUserObject)(Graph *graph, UserObject *object, u32 count, u32 flags) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(!object || !count, INVALID_VALUE);
  if (!(flags & 1)) object->count += count;  // not CU_GRAPH_USER_OBJECT_MOVE
  graph->objects.add({object, count});
  return SUCCESS;
}

API(cuGraphReleaseUserObject)(Graph *graph, UserObject *object, u32 count) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  u64 held = 0;
  for (const Held &each : graph->objects) held += each.object == object ? each.count : 0;
  REFUSE_IF(!object || !count || count > held, INVALID_VALUE);
  u32 left = count;
  for (u64 at = graph->objects.count; at-- && left;) {
    Held &each = graph->objects[at];
    if (each.object != object) continue;
    u32 taken = each.count < left ? each.count : left;
    left -= taken;
    if (!(each.count -= taken)) graph->objects.remove(at);
  }
  release(object, count);
  return SUCCESS;
}
