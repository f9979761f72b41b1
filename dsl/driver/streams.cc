// CUDA driver API: stream management, event management.
#include "streams.h"

#include "graphs.h"
#include "memory.h"
#include "ring.h"

namespace driver {
namespace {

constexpr u32 DISABLE_TIMING = 2;
constexpr u64 LEGACY = 1, PER_THREAD = 2;  // handles beside 0
thread_local Stream *of_thread;
Stream *of_all;

Stream *standing(Stream *&stream) {
  if (!stream) stream = make<Stream>();
  return stream;
}

}  // namespace

Stream *stream_of(void *handle) {
  if ((u64)handle <= LEGACY) return standing(of_all);
  if ((u64)handle == PER_THREAD) return standing(of_thread);
  return of<Stream>(handle);
}

void record(Event *event) { event->is_recorded = true, event->at_ns = now_ns(), event->capture = nullptr; }

Result run(const Work &work) {
  switch (work.type) {
    case Type::KERNEL: return run(work.launch);
    case Type::COPY: return work.is_box ? run(work.box) : run(work.copy);
    case Type::FILL: return run(work.fill);
    case Type::RECORD: record(work.record.event); return SUCCESS;
    case Type::HOST: work.call.function(work.call.argument); return SUCCESS;
    default: return SUCCESS;
  }
}

Result enqueue(void *handle, const Work &work) {
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  return stream->capture ? capture(stream, work) : run(work);
}

}  // namespace driver

using namespace driver;

API(cuStreamCreateWithPriority)(Stream **made, u32 flags, int priority) {
  ENTER_CONTEXT;
  REFUSE_IF(!made || flags > 1, INVALID_VALUE);
  *made = make<Stream>();
  (*made)->flags = flags, (*made)->context = context;
  (*made)->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  return SUCCESS;
}

API(cuStreamCreate)(Stream **made, u32 flags) { return cuStreamCreateWithPriority(made, flags, 0); }

API(cuStreamDestroy_v2)(Stream *stream) {
  ENTER;
  REFUSE_IF(!of<Stream>(stream), INVALID_HANDLE);
  stream->last.close();
  drop_object(stream);
  return SUCCESS;
}

API(cuStreamSynchronize)(void *handle) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  if (!stream->capture) return SUCCESS;
  stream->capture->is_lost = true;
  return CAPTURE_UNSUPPORTED;
}

API(cuStreamQuery)(void *handle) { return cuStreamSynchronize(handle); }

API(cuStreamGetFlags)(void *handle, u32 *flags) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!flags, INVALID_VALUE);
  *flags = stream->flags;
  return SUCCESS;
}

API(cuStreamGetPriority)(void *handle, int *priority) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!priority, INVALID_VALUE);
  *priority = stream->priority;
  return SUCCESS;
}

API(cuStreamGetId)(void *handle, u64 *id) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!id, INVALID_VALUE);
  *id = stream->id;
  return SUCCESS;
}

API(cuStreamGetDevice)(void *handle, int *device) {
  ENTER_CONTEXT;
  REFUSE_IF(!stream_of(handle), INVALID_HANDLE);
  REFUSE_IF(!device, INVALID_VALUE);
  *device = 0;
  return SUCCESS;
}

API(cuStreamGetCtx)(void *handle, Context **owner) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!owner, INVALID_VALUE);
  *owner = stream->context ? stream->context : context;
  return SUCCESS;
}

API(cuStreamGetCtx_v2)(void *handle, Context **owner, void **green) {
  if (green) *green = nullptr;
  return cuStreamGetCtx(handle, owner);
}

API(cuStreamAttachMemAsync)(void *handle, Address, u64, u32) {
  ENTER_CONTEXT;
  return stream_of(handle) ? SUCCESS : INVALID_HANDLE;
}

API(cuStreamCopyAttributes)(void *, void *) {
  ENTER_CONTEXT;
  return SUCCESS;
}

API(cuStreamSetAttribute)(void *handle, u32, const void *) {
  ENTER_CONTEXT;
  return stream_of(handle) ? SUCCESS : INVALID_HANDLE;  // hints
}

API(cuStreamGetAttribute)(void *handle, u32, void *value) {
  ENTER_CONTEXT;
  REFUSE_IF(!stream_of(handle), INVALID_HANDLE);
  REFUSE_IF(!value, INVALID_VALUE);
  memset(value, 0, 64);  // a CUstreamAttrValue
  return SUCCESS;
}

// ** the program's functions

API(cuLaunchHostFunc)(void *stream, void (*function)(void *), void *argument) {
  REFUSE_IF(!function, INVALID_VALUE);
  {
    ENTER_CONTEXT;
    Stream *into = stream_of(stream);
    REFUSE_IF(!into, INVALID_HANDLE);
    if (into->capture) return enqueue(stream, HostCall{function, argument});
  }
  function(argument);
  return SUCCESS;
}

API(cuStreamAddCallback)(void *stream, void (*function)(void *, Result, void *), void *argument, u32) {
  {
    ENTER_CONTEXT;
    Stream *into = stream_of(stream);
    REFUSE_IF(!into, INVALID_HANDLE);
    REFUSE_IF(!function, INVALID_VALUE);
    REFUSE_IF(into->capture, CAPTURE_UNSUPPORTED);
  }
  function(stream, SUCCESS, argument);
  return SUCCESS;
}

// ** values in memory that streams wait for and write

static Result write_value(void *stream, Address address, u64 value, u32 bytes) {
  ENTER_CONTEXT;
  REFUSE_IF(!stream_of(stream), INVALID_HANDLE);
  REFUSE_IF(!holds(address, bytes), INVALID_VALUE);
  memcpy((void *)address, &value, bytes);
  return SUCCESS;
}

API(cuStreamWriteValue32_v2)(void *stream, Address address, u32 value, u32) {
  return write_value(stream, address, value, 4);
}
API(cuStreamWriteValue64_v2)(void *stream, Address address, u64 value, u32) {
  return write_value(stream, address, value, 8);
}

// ** events

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
  event->after.close();
  drop_object(event);
  return SUCCESS;
}

API(cuEventRecordWithFlags)(Event *event, void *handle, u32 flags) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!of<Event>(event) || !stream, INVALID_HANDLE);
  REFUSE_IF(flags > 1, INVALID_VALUE);
  if (!stream->capture) {
    record(event);
    return SUCCESS;
  }
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
  return SUCCESS;
}

API(cuEventSynchronize)(Event *event) { return cuEventQuery(event); }

API(cuEventElapsedTime_v2)(float *ms, Event *from, Event *to) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Event>(from) || !of<Event>(to), INVALID_HANDLE);
  REFUSE_IF(!ms, INVALID_VALUE);
  REFUSE_IF(!from->is_recorded || !to->is_recorded || (from->flags | to->flags) & DISABLE_TIMING, INVALID_HANDLE);
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
