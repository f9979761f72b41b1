// Streams whose work becomes a graph.  CUDA driver API: stream capture.
#include "graphs.h"
#include "order.h"

namespace driver {

Result capture(Stream *stream, const Work &work) {
  if (stream->capture->is_lost) return CAPTURE_INVALIDATED;
  Node *node = add_node(stream->capture->graph, work, stream->last.data, stream->last.count);
  stream->last.clear();
  stream->last.add(node);
  return SUCCESS;
}

Result lose_capture(Stream *stream) {
  stream->capture->is_lost = true;
  return CAPTURE_UNSUPPORTED;
}

Result join(Stream *stream, Event *event) {
  if (!event->capture) {
    if (!stream->capture) return follows_order() ? come_after(stream, event->seen) : void(), SUCCESS;
    stream->capture->is_lost = true;
    return CAPTURE_ISOLATION;
  }
  if (stream->capture && stream->capture != event->capture) {
    stream->capture->is_lost = event->capture->is_lost = true;
    return CAPTURE_MERGE;
  }
  if (!stream->capture) stream->last.clear();
  stream->capture = event->capture;
  for (Node *each : event->after)
    if (!stream->last.has(each)) stream->last.add(each);
  return SUCCESS;
}

}  // namespace driver

using namespace driver;

namespace {

constexpr u32 GLOBAL_MODE = 0, RELAXED_MODE = 2;
thread_local u32 mode_of_thread = GLOBAL_MODE;

Vector<Capture *> active;

struct Leftover {
  Capture *capture;
  Vector<Node *> joined;
  bool is_unjoined;
};

// The nodes that `node` comes after, and itself.
void add_before(Vector<Node *> &all, Node *node) {
  if (all.has(node)) return;
  all.add(node);
  for (Node *each : node->after) add_before(all, each);
}

// A stream that joined a capture is free again when that ends.
void leave(Object *object, void *argument) {
  Stream *stream = (Stream *)object;
  Leftover *left = (Leftover *)argument;
  if (stream->capture != left->capture) return;
  for (Node *each : stream->last) left->is_unjoined = left->is_unjoined || !left->joined.has(each);
  stream->capture = nullptr;
  stream->last.clear();
}

void forget(Object *object, void *capture) {
  Event *event = (Event *)object;
  if (event->capture == capture) event->capture = nullptr, event->is_recorded = false, event->after.clear();
}

void lose_if_blocking(Object *object, void *result) {
  Stream *stream = (Stream *)object;
  if (!stream->capture || stream->flags & 1) return;
  stream->capture->is_lost = true;
  *(Result *)result = CAPTURE_IMPLICIT;
}

void end_capture(Capture *capture, Leftover *left) {
  for_each(Kind::STREAM, leave, left);
  for_each(Kind::EVENT, forget, capture);
  for (u64 at = active.count; at--;)
    if (active[at] == capture) active.remove(at);
}

}  // namespace

namespace driver {

// CUDA runtime API, cudaThreadExchangeStreamCaptureMode.
Result captures_allow() {
  Result result = SUCCESS;
  for (Capture *each : active) {
    bool is_own = pthread_equal(each->thread, pthread_self());
    bool forbids = is_own ? each->mode != RELAXED_MODE : each->mode == GLOBAL_MODE && mode_of_thread == GLOBAL_MODE;
    if (mode_of_thread != RELAXED_MODE && forbids) each->is_lost = true, result = CAPTURE_UNSUPPORTED;
  }
  return result;
}

Result captures_allow_synchronizing() {
  for (Capture *each : active) each->is_lost = true;
  return active.count ? CAPTURE_UNSUPPORTED : SUCCESS;
}

Result captures_allow_legacy_stream() {
  Result result = SUCCESS;
  if (active.count) for_each(Kind::STREAM, lose_if_blocking, &result);
  return result;
}

void drop_capture(Stream *stream) {
  Capture *capture = stream->capture;
  if (!capture || capture->origin != stream) return;
  Leftover left = {capture, {}, false};
  end_capture(capture, &left);
  if (!capture->is_of_program) drop_graph(capture->graph);
  free(capture);
}

}  // namespace driver

static Result begin_capture(void *handle, u32 mode, Graph *graph) {
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(mode > RELAXED_MODE, INVALID_VALUE);
  REFUSE_IF((u64)handle <= 1, CAPTURE_UNSUPPORTED);
  REFUSE_IF(stream->capture, ILLEGAL_STATE);
  Capture *capture = (Capture *)calloc(1, sizeof(Capture));
  capture->graph = graph ? graph : make<Graph>(), capture->is_of_program = graph, capture->origin = stream,
  capture->mode = mode;
  capture->id = capture->graph->id, capture->thread = pthread_self();
  active.add(capture);
  stream->capture = capture;
  stream->last.clear();
  return SUCCESS;
}

API(cuStreamBeginCapture_v2)(void *handle, u32 mode) {
  ENTER_CONTEXT;
  return begin_capture(handle, mode, nullptr);
}

API(cuStreamBeginCaptureToGraph)(void *handle, Graph *graph, Node *const *after, const void *, u64 count, u32 mode) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(count && !after, INVALID_VALUE);
  for (u64 i = 0; i < count; ++i) REFUSE_IF(!of<Node>(after[i]) || after[i]->graph != graph, INVALID_VALUE);
  if (Result bad = begin_capture(handle, mode, graph)) return bad;
  stream_of(handle)->last.append(after, count);
  return SUCCESS;
}

API(cuStreamEndCapture)(void *handle, Graph **graph) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  Capture *capture = stream->capture;
  REFUSE_IF(!graph && !(capture && capture->is_of_program), INVALID_VALUE);
  REFUSE_IF(!capture, ILLEGAL_STATE);
  REFUSE_IF(capture->origin != stream, CAPTURE_UNMATCHED);
  Leftover left = {capture, {}, false};
  for (Node *each : stream->last) add_before(left.joined, each);
  end_capture(capture, &left);
  left.joined.close();
  Result result = capture->is_lost ? CAPTURE_INVALIDATED : left.is_unjoined ? CAPTURE_UNJOINED : SUCCESS;
  if (graph) *graph = result ? nullptr : capture->graph;
  if (result && !capture->is_of_program) drop_graph(capture->graph);
  free(capture);
  return result;
}

API(cuStreamIsCapturing)(void *handle, u32 *status) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!status, INVALID_VALUE);
  *status = !stream->capture ? 0 : stream->capture->is_lost ? 2 : 1;
  return SUCCESS;
}

API(cuStreamGetCaptureInfo_v3)(void *handle, u32 *status, u64 *id, Graph **graph, Node ***after, const void **edges,
                               u64 *count) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!status, INVALID_VALUE);
  Capture *capture = stream->capture;
  *status = !capture ? 0 : capture->is_lost ? 2 : 1;
  if (edges) *edges = nullptr;
  if (!capture) return SUCCESS;
  if (id) *id = capture->id;
  if (graph) *graph = capture->graph;
  if (after) *after = stream->last.data;
  if (count) *count = stream->last.count;
  return SUCCESS;
}

API(cuStreamGetCaptureInfo_v2)(void *handle, u32 *status, u64 *id, Graph **graph, Node ***after, u64 *count) {
  return cuStreamGetCaptureInfo_v3(handle, status, id, graph, after, nullptr, count);
}

API(cuStreamUpdateCaptureDependencies_v2)(void *handle, Node *const *after, const void *, u64 count, u32 flags) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!stream, INVALID_HANDLE);
  REFUSE_IF(!stream->capture, ILLEGAL_STATE);
  REFUSE_IF(flags > 1 || (count && !after), INVALID_VALUE);
  if (flags) stream->last.clear();  // set, and not add
  for (u64 i = 0; i < count; ++i)
    if (!stream->last.has(after[i])) stream->last.add(after[i]);
  return SUCCESS;
}

API(cuStreamUpdateCaptureDependencies)(void *handle, Node *const *after, u64 count, u32 flags) {
  return cuStreamUpdateCaptureDependencies_v2(handle, after, nullptr, count, flags);
}

API(cuThreadExchangeStreamCaptureMode)(u32 *mode) {
  ENTER;
  REFUSE_IF(!mode || *mode > RELAXED_MODE, INVALID_VALUE);
  u32 before = mode_of_thread;
  mode_of_thread = *mode, *mode = before;
  return SUCCESS;
}
