// CUDA driver API: stream management, event management.
#include "streams.h"

#include "graphs.h"
#include "memory.h"
#include "pieces.h"

namespace driver {
namespace {

constexpr u64 LEGACY = 1, PER_THREAD = 2;  // handles beside 0
thread_local Stream *of_thread;
u32 next_number = FIRST_NUMBER;
Stream *of_all;

Stream *standing(Stream *&stream, bool is_legacy) {
  if (stream) return stream;
  stream = make<Stream>();
  stream->is_legacy = is_legacy, stream->number = is_legacy ? LEGACY_NUMBER : OF_THREAD_NUMBER;
  may_overlap = may_overlap || !is_legacy;
  return stream;
}

}  // namespace

Stream *stream_of(void *handle) {
  if ((u64)handle <= LEGACY) return standing(of_all, true);
  if ((u64)handle == PER_THREAD) return standing(of_thread, false);
  return of<Stream>(handle);
}

Result run(const Work &work) {
  switch (work.type) {
    case Type::KERNEL: return run(work.launch);
    case Type::COPY: return work.is_box ? run(work.box) : run(work.copy);
    case Type::FILL: return run(work.fill);
    case Type::RECORD: return run(work.record);
    case Type::HOST: {
      Unlocked unlocked;
      work.call.function(work.call.argument);
      return SUCCESS;
    }
    case Type::ALLOCATE: {
      if (Block *block = reserved(work.allocation.start)) make_present(block);
      return SUCCESS;
    }
    case Type::FREE: return release(work.allocation.start);
    case Type::CONDITION: return run(work.condition, [](const Work &each, const void *) { return run(each); }, nullptr);
    default: return SUCCESS;
  }
}

Result check(const Work &work) {
  switch (work.type) {
    case Type::COPY: return work.is_box ? check(work.box) : check(work.copy);
    case Type::FILL: return check(work.fill);
    default: return SUCCESS;
  }
}

Result enqueue(void *handle, const Work &work, How how) {
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (stream->capture) return capture(stream, work);
  if (stream->is_legacy)
    if (Result bad = captures_allow_legacy_stream()) return bad;
  return follows_order() ? add_piece(stream, work, how) : run(work);
}

}  // namespace driver

using namespace driver;

API(cuStreamCreateWithPriority)(Stream **made, u32 flags, int priority) {
  ENTER_CONTEXT;
  REFUSE_IF(!made || flags > 1, INVALID_VALUE);
  *made = make<Stream>();
  (*made)->flags = flags, (*made)->context = context, (*made)->number = next_number++;
  may_overlap = true;
  (*made)->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  return SUCCESS;
}

API(cuStreamCreate)(Stream **made, u32 flags) { return cuStreamCreateWithPriority(made, flags, 0); }

API(cuStreamDestroy_v2)(Stream *stream) {
  ENTER;
  REFUSE_IF(!of<Stream>(stream), INVALID_HANDLE);
  drop_capture(stream);
  stream->last.close(), stream->seen.close();
  give_line_back(stream->line);
  drop_object(stream);
  return SUCCESS;
}

API(cuStreamSynchronize)(void *handle) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  if (stream->capture) return lose_capture(stream);
  if (stream->is_legacy)
    if (Result bad = captures_allow_legacy_stream()) return bad;
  if (follows_order()) catch_up(stream), wait_for(stream->seen);
  return context->lost;
}

API(cuStreamQuery)(void *handle) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  if (stream->capture) return lose_capture(stream);
  if (stream->is_legacy)
    if (Result bad = captures_allow_legacy_stream()) return bad;
  if (follows_order()) catch_up(stream);
  return follows_order() && !has_ended(stream->seen) ? NOT_READY : context->lost;
}

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
  ENTER_CONTEXT;
  return enqueue(stream, HostCall{function, argument});
}

struct Callback {
  void (*function)(void *, Result, void *);
  void *stream, *argument;
};

static void call_back(void *argument) {
  Callback callback = *(Callback *)argument;
  free(argument);
  callback.function(callback.stream, SUCCESS, callback.argument);
}

API(cuStreamAddCallback)(void *stream, void (*function)(void *, Result, void *), void *argument, u32) {
  ENTER_CONTEXT;
  Stream *into = stream_of(stream);
  REFUSE_IF(!into, INVALID_HANDLE);
  REFUSE_IF(!function, INVALID_VALUE);
  REFUSE_IF(into->capture, CAPTURE_UNSUPPORTED);
  Callback *callback = (Callback *)malloc(sizeof(Callback));
  REFUSE_IF(!callback, OUT_OF_MEMORY);
  *callback = {function, stream, argument};
  return enqueue(stream, HostCall{call_back, callback});
}

// ** values in memory that streams wait for and write

static Result write_value(void *stream, Address address, u64 value, u32 bytes) {
  ENTER_CONTEXT;
  REFUSE_IF(!stream_of(stream), INVALID_HANDLE);
  REFUSE_IF(!holds(address, bytes), INVALID_VALUE);
  return enqueue(stream, Fill{address, 0, 1, 1, value, bytes, true});
}

API(cuStreamWriteValue32_v2)(void *stream, Address address, u32 value, u32) {
  return write_value(stream, address, value, 4);
}
API(cuStreamWriteValue64_v2)(void *stream, Address address, u64 value, u32) {
  return write_value(stream, address, value, 8);
}
