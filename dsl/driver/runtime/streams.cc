// Streams, what they run on the host, and their capture.
#include "runtime.h"

DRIVER(cuStreamCreate, Stream *, u32)
DRIVER(cuStreamCreateWithPriority, Stream *, u32, int)
DRIVER(cuStreamDestroy_v2, Stream)
DRIVER(cuStreamSynchronize, Stream)
DRIVER(cuStreamQuery, Stream)
DRIVER(cuStreamWaitEvent, Stream, Event, u32)
DRIVER(cuStreamGetFlags, Stream, u32 *)
DRIVER(cuStreamGetPriority, Stream, int *)
DRIVER(cuStreamGetId, Stream, ULong *)
DRIVER(cuStreamGetDevice, Stream, int *)
DRIVER(cuStreamGetAttribute, Stream, Attribute, void *)
DRIVER(cuStreamSetAttribute, Stream, Attribute, const void *)
DRIVER(cuStreamCopyAttributes, Stream, Stream)
DRIVER(cuStreamAddCallback, Stream, StreamCallback, void *, u32)
DRIVER(cuLaunchHostFunc, Stream, HostFunction, void *)
DRIVER(cuStreamBeginCapture_v2, Stream, int)
DRIVER(cuStreamBeginCaptureToGraph, Stream, Graph, const Node *, const void *, size_t, int)
DRIVER(cuStreamEndCapture, Stream, Graph *)
DRIVER(cuStreamIsCapturing, Stream, int *)
DRIVER(cuStreamGetCaptureInfo_v2, Stream, int *, ULong *, Graph *, const Node **, size_t *)
DRIVER(cuStreamGetCaptureInfo_v3, Stream, int *, ULong *, Graph *, const Node **, const void **, size_t *)
DRIVER(cuStreamUpdateCaptureDependencies_v2, Stream, Node *, const void *, size_t, u32)

API Error cudaStreamCreateWithFlags(Stream *stream, u32 flags) {
  return call([&] { return driver::cuStreamCreate(stream, flags); });
}

API Error cudaStreamCreate(Stream *stream) { return cudaStreamCreateWithFlags(stream, 0); }

API Error cudaStreamCreateWithPriority(Stream *stream, u32 flags, int priority) {
  return call([&] { return driver::cuStreamCreateWithPriority(stream, flags, priority); });
}

API Error cudaStreamDestroy(Stream stream) {
  return call([&] { return driver::cuStreamDestroy_v2(stream); });
}

API Error cudaStreamSynchronize(Stream stream) {
  return call([&] { return driver::cuStreamSynchronize(stream); });
}
PER_THREAD(cudaStreamSynchronize);

API Error cudaStreamQuery(Stream stream) {
  return call([&] { return driver::cuStreamQuery(stream); });
}
PER_THREAD(cudaStreamQuery);

API Error cudaStreamWaitEvent(Stream stream, Event event, u32 flags) {
  return call([&] { return driver::cuStreamWaitEvent(stream, event, flags); });
}
PER_THREAD(cudaStreamWaitEvent);

API Error cudaStreamGetFlags(Stream stream, u32 *flags) {
  return call([&] { return driver::cuStreamGetFlags(stream, flags); });
}
PER_THREAD(cudaStreamGetFlags);

API Error cudaStreamGetPriority(Stream stream, int *priority) {
  return call([&] { return driver::cuStreamGetPriority(stream, priority); });
}
PER_THREAD(cudaStreamGetPriority);

API Error cudaStreamGetId(Stream stream, ULong *id) {
  return call([&] { return driver::cuStreamGetId(stream, id); });
}
PER_THREAD(cudaStreamGetId);

API Error cudaStreamGetDevice(Stream stream, int *device) {
  return call([&] { return driver::cuStreamGetDevice(stream, device); });
}
PER_THREAD(cudaStreamGetDevice);

API Error cudaStreamGetAttribute(Stream stream, Attribute attribute, void *value) {
  return call([&] { return driver::cuStreamGetAttribute(stream, attribute, value); });
}
PER_THREAD(cudaStreamGetAttribute);

API Error cudaStreamSetAttribute(Stream stream, Attribute attribute, const void *value) {
  return call([&] { return driver::cuStreamSetAttribute(stream, attribute, value); });
}
PER_THREAD(cudaStreamSetAttribute);

API Error cudaStreamCopyAttributes(Stream target, Stream source) {
  return call([&] { return driver::cuStreamCopyAttributes(target, source); });
}
PER_THREAD(cudaStreamCopyAttributes);

API Error cudaStreamAddCallback(Stream stream, StreamCallback callback, void *data, u32 flags) {
  return call([&] { return driver::cuStreamAddCallback(stream, callback, data, flags); });
}
PER_THREAD(cudaStreamAddCallback);

API Error cudaLaunchHostFunc(Stream stream, HostFunction function, void *data) {
  return call([&] { return driver::cuLaunchHostFunc(stream, function, data); });
}
PER_THREAD(cudaLaunchHostFunc);

// ** capture

API Error cudaStreamBeginCapture(Stream stream, int mode) {
  return call([&] { return driver::cuStreamBeginCapture_v2(stream, mode); });
}
PER_THREAD(cudaStreamBeginCapture);

API Error cudaStreamBeginCaptureToGraph(Stream stream, Graph graph, const Node *nodes, const void *edges, size_t count,
                                        int mode) {
  return call([&] { return driver::cuStreamBeginCaptureToGraph(stream, graph, nodes, edges, count, mode); });
}
PER_THREAD(cudaStreamBeginCaptureToGraph);

API Error cudaStreamEndCapture(Stream stream, Graph *graph) {
  return call([&] { return driver::cuStreamEndCapture(stream, graph); });
}
PER_THREAD(cudaStreamEndCapture);

API Error cudaStreamIsCapturing(Stream stream, int *status) {
  return call([&] { return driver::cuStreamIsCapturing(stream, status); });
}
PER_THREAD(cudaStreamIsCapturing);

static Error capture_info(Stream stream, int *status, ULong *id, Graph *graph, const Node **nodes, const void **edges,
                          size_t *count) {
  return call([&] {
    if (!edges) return driver::cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
    return driver::cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
  });
}

static Error update_capture(Stream stream, Node *nodes, const void *edges, size_t count, u32 flags) {
  return call([&] { return driver::cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags); });
}

#if CUDART_MAJOR == 12
API Error cudaStreamGetCaptureInfo(Stream stream, int *status, ULong *id) {
  return capture_info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
API Error cudaStreamGetCaptureInfo_v2(Stream stream, int *status, ULong *id, Graph *graph, const Node **nodes,
                                      size_t *count) {
  return capture_info(stream, status, id, graph, nodes, nullptr, count);
}
PER_THREAD(cudaStreamGetCaptureInfo_v2);
API Error cudaStreamGetCaptureInfo_v3(Stream stream, int *status, ULong *id, Graph *graph, const Node **nodes,
                                      const void **edges, size_t *count) {
  return capture_info(stream, status, id, graph, nodes, edges, count);
}
PER_THREAD(cudaStreamGetCaptureInfo_v3);
API Error cudaStreamUpdateCaptureDependencies(Stream stream, Node *nodes, size_t count, u32 flags) {
  return update_capture(stream, nodes, nullptr, count, flags);
}
API Error cudaStreamUpdateCaptureDependencies_v2(Stream stream, Node *nodes, const void *edges, size_t count,
                                                 u32 flags) {
  return update_capture(stream, nodes, edges, count, flags);
}
PER_THREAD(cudaStreamUpdateCaptureDependencies_v2);
#else
API Error cudaStreamGetCaptureInfo(Stream stream, int *status, ULong *id, Graph *graph, const Node **nodes,
                                   const void **edges, size_t *count) {
  return capture_info(stream, status, id, graph, nodes, edges, count);
}
API Error cudaStreamUpdateCaptureDependencies(Stream stream, Node *nodes, const void *edges, size_t count, u32 flags) {
  return update_capture(stream, nodes, edges, count, flags);
}
#endif
PER_THREAD(cudaStreamGetCaptureInfo);
PER_THREAD(cudaStreamUpdateCaptureDependencies);
