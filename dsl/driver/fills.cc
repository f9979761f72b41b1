// Fills. Memory must be in a block.  CUDA driver API: memory management.
#include "memory.h"
#include "streams.h"

namespace driver {

Result check(const Fill &fill) {
  u64 row_bytes = fill.width * fill.element_bytes;
  if (!row_bytes || !fill.height) return SUCCESS;
  if (fill.to % fill.element_bytes || (fill.height > 1 && fill.pitch < row_bytes)) return INVALID_VALUE;
  return holds(fill.to, fill.pitch * (fill.height - 1) + row_bytes) ? SUCCESS : INVALID_VALUE;
}

// Rows of `width` elements; a pitch is in bytes.
Result run(const Fill &fill) {
  if (Result bad = check(fill)) return bad;
  u64 row_bytes = fill.width * fill.element_bytes;
  for (u64 row = 0; row < fill.height; ++row) {
    u8 *at = (u8 *)fill.to + row * fill.pitch;
    if (fill.element_bytes == 1) memset(at, (int)fill.value, fill.width);
    else
      for (u64 column = 0; column < fill.width; ++column)
        memcpy(at + column * fill.element_bytes, &fill.value, fill.element_bytes);
    note_written((Address)at, row_bytes);
  }
  return SUCCESS;
}

}  // namespace driver

using namespace driver;

static Result fill_now(Address to, u64 pitch, u32 value, u32 element_bytes, u64 width, u64 height) {
  ENTER_CONTEXT;
  return enqueue(nullptr, Fill{to, pitch, width, height, value, element_bytes, false}, How::FOR_PROGRAM);
}

static Result enqueue_fill(Address to, u64 pitch, u32 value, u32 bytes, u64 width, u64 height, void *stream) {
  ENTER_CONTEXT;
  return enqueue(stream, Fill{to, pitch, width, height, value, bytes, false});
}

API(cuMemsetD8_v2)(Address to, u8 value, u64 count) { return fill_now(to, 0, value, 1, count, 1); }
API(cuMemsetD16_v2)(Address to, u16 value, u64 count) { return fill_now(to, 0, value, 2, count, 1); }
API(cuMemsetD32_v2)(Address to, u32 value, u64 count) { return fill_now(to, 0, value, 4, count, 1); }
API(cuMemsetD2D8_v2)(Address to, u64 pitch, u8 value, u64 width, u64 height) {
  return fill_now(to, pitch, value, 1, width, height);
}
API(cuMemsetD2D16_v2)(Address to, u64 pitch, u16 value, u64 width, u64 height) {
  return fill_now(to, pitch, value, 2, width, height);
}
API(cuMemsetD2D32_v2)(Address to, u64 pitch, u32 value, u64 width, u64 height) {
  return fill_now(to, pitch, value, 4, width, height);
}
API(cuMemsetD8Async)(Address to, u8 value, u64 count, void *stream) {
  return enqueue_fill(to, 0, value, 1, count, 1, stream);
}
API(cuMemsetD16Async)(Address to, u16 value, u64 count, void *stream) {
  return enqueue_fill(to, 0, value, 2, count, 1, stream);
}
API(cuMemsetD32Async)(Address to, u32 value, u64 count, void *stream) {
  return enqueue_fill(to, 0, value, 4, count, 1, stream);
}
API(cuMemsetD2D8Async)(Address to, u64 pitch, u8 value, u64 width, u64 height, void *stream) {
  return enqueue_fill(to, pitch, value, 1, width, height, stream);
}
API(cuMemsetD2D16Async)(Address to, u64 pitch, u16 value, u64 width, u64 height, void *stream) {
  return enqueue_fill(to, pitch, value, 2, width, height, stream);
}
API(cuMemsetD2D32Async)(Address to, u64 pitch, u32 value, u64 width, u64 height, void *stream) {
  return enqueue_fill(to, pitch, value, 4, width, height, stream);
}
