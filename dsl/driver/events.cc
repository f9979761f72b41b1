// CUDA driver API: event management.
#include "graphs.h"
#include "pieces.h"
#include "ring.h"

namespace driver {

constexpr u32 DISABLE_TIMING = 2;  // CUevent_flags

Result run(const Record &record) {
  if (of<Event>(record.event)) record.event->at_ns = now_ns();
  return SUCCESS;
}

void expect(Event *event, const Clock &clock) {
  event->is_recorded = true, event->capture = nullptr;
  event->seen.close();
  event->seen = clock.copy();
}

Result record(Event *event, Stream *stream) {
  if (!follows_order()) return expect(event, {}), run(Record{event});
  Result result = add_piece(stream, Record{event}, How::IN_STREAM);
  expect(event, stream->seen);
  return result;
}

}  // namespace driver

using namespace driver;

API(cuEventCreate)(Event **made, u32 flags) {
  ENTER_CONTEXT;
  REFUSE_IF(!made || flags > 7, INVALID_VALUE);
  REFUSE_IF(flags & 4, unsupported("cuEventCreate for other processes"));
  *made = make<Event>();
  (*made)->flags = flags;
  return SUCCESS;
}

API(cuEventDestroy_v2)(Event *event) {
  ENTER;
  REFUSE_IF(!of<Event>(event), INVALID_HANDLE);
  event->after.close(), event->seen.close();
  drop_object(event);
  return SUCCESS;
}

API(cuEventRecordWithFlags)(Event *event, void *handle, u32 flags) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!of<Event>(event) || !stream, INVALID_HANDLE);
  REFUSE_IF(flags > 1, INVALID_VALUE);
  if (stream->is_legacy)
    if (Result bad = captures_allow_legacy_stream()) return bad;
  if (!stream->capture) return record(event, stream);
  if (flags) return enqueue(handle, Record{event});  // cudaEventRecordExternal
  event->capture = stream->capture;
  event->after.clear();
  event->after.append(stream->last.data, stream->last.count);
  return SUCCESS;
}

API(cuEventRecord)(Event *event, void *stream) { return cuEventRecordWithFlags(event, stream, 0); }

API(cuEventQuery)(Event *event) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Event>(event), INVALID_HANDLE);
  REFUSE_IF(event->capture, CAPTURED_EVENT);
  return follows_order() && !has_ended(event->seen) ? NOT_READY : context->lost;
}

API(cuEventSynchronize)(Event *event) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Event>(event), INVALID_HANDLE);
  REFUSE_IF(event->capture, CAPTURED_EVENT);
  if (follows_order()) wait_for(event->seen);
  return context->lost;
}

API(cuEventElapsedTime_v2)(float *ms, Event *from, Event *to) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Event>(from) || !of<Event>(to), INVALID_HANDLE);
  REFUSE_IF(!ms, INVALID_VALUE);
  REFUSE_IF(!from->is_recorded || !to->is_recorded || (from->flags | to->flags) & DISABLE_TIMING, INVALID_HANDLE);
  REFUSE_IF(follows_order() && (!has_ended(from->seen) || !has_ended(to->seen)), NOT_READY);
  *ms = (float)((double)(i64)(to->at_ns - from->at_ns) * 1e-6);
  return SUCCESS;
}

API(cuEventElapsedTime)(float *ms, Event *from, Event *to) { return cuEventElapsedTime_v2(ms, from, to); }

API(cuStreamWaitEvent)(void *handle, Event *event, u32 flags) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream || !of<Event>(event), INVALID_HANDLE);
  REFUSE_IF(flags > 1, INVALID_VALUE);
  return join(stream, event);
}
