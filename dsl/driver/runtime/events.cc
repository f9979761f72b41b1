// Events.
#include "runtime.h"

DRIVER(cuEventCreate, Event *, u32)
DRIVER(cuEventDestroy_v2, Event)
DRIVER(cuEventRecordWithFlags, Event, Stream, u32)
DRIVER(cuEventRecord, Event, Stream)
DRIVER(cuEventSynchronize, Event)
DRIVER(cuEventQuery, Event)
DRIVER(cuEventElapsedTime, float *, Event, Event)

API Error cudaEventCreateWithFlags(Event *event, u32 flags) {
  return call([&] { return driver::cuEventCreate(event, flags); });
}

API Error cudaEventCreate(Event *event) { return cudaEventCreateWithFlags(event, 0); }

API Error cudaEventDestroy(Event event) {
  return call([&] { return driver::cuEventDestroy_v2(event); });
}

API Error cudaEventRecord(Event event, Stream stream) {
  return call([&] { return driver::cuEventRecord(event, stream); });
}
PER_THREAD(cudaEventRecord);

API Error cudaEventRecordWithFlags(Event event, Stream stream, u32 flags) {
  return call([&] { return driver::cuEventRecordWithFlags(event, stream, flags); });
}
PER_THREAD(cudaEventRecordWithFlags);

API Error cudaEventSynchronize(Event event) {
  return call([&] { return driver::cuEventSynchronize(event); });
}

API Error cudaEventQuery(Event event) {
  return call([&] { return driver::cuEventQuery(event); });
}

API Error cudaEventElapsedTime(float *milliseconds, Event start, Event end) {
  return call([&] { return driver::cuEventElapsedTime(milliseconds, start, end); });
}

#if CUDART_MAJOR == 12
API Error cudaEventElapsedTime_v2(float *milliseconds, Event start, Event end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}
#endif
