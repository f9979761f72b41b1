// Copies of rectangles and boxes, in linear memory and in arrays.
#include "copies.h"

DRIVER(cuMemcpy2DUnaligned_v2, const DriverCopy2D *)
DRIVER(cuMemcpy2DAsync_v2, const DriverCopy2D *, Stream)
DRIVER(cuMemcpy3D_v2, const DriverCopy3D *)
DRIVER(cuMemcpy3DAsync_v2, const DriverCopy3D *, Stream)
DRIVER(cuArray3DGetDescriptor_v2, ArrayDescriptor *, Array)
DRIVER(cuStreamSynchronize, Stream)

namespace {

MemoryKind source_kind(CopyKind kind) {
  if (kind == BY_ADDRESS) return UNIFIED_MEMORY;
  return kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE ? DEVICE_MEMORY : HOST_MEMORY;
}

MemoryKind target_kind(CopyKind kind) {
  if (kind == BY_ADDRESS) return UNIFIED_MEMORY;
  return kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE ? DEVICE_MEMORY : HOST_MEMORY;
}

// Bytes of an element by CUarray_format: 8, 16 and 32 bits, unsigned, signed, float.
size_t format_bytes(u32 format) {
  switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    case 0x03:
    case 0x0A:
    case 0x20: return 4;
    default: return 0;
  }
}

Error element_bytes(Array array, size_t *bytes) {
  ArrayDescriptor description = {};
  Error error = driver::cuArray3DGetDescriptor_v2(&description, array);
  *bytes = format_bytes(description.format) * description.channels;
  return error ? error : *bytes ? SUCCESS : NOT_SUPPORTED;
}

DriverSide3D array_side(Array array, const Position &at, size_t bytes) {
  return {.x_bytes = at.x * bytes, .y = at.y, .z = at.z, .kind = ARRAY_MEMORY, .array = array};
}

DriverSide3D linear_side(const PitchedPointer &memory, const Position &at, MemoryKind kind) {
  DriverSide3D side = {.x_bytes = at.x, .y = at.y, .z = at.z, .kind = kind};
  side.pitch = memory.pitch;
  side.height = memory.height;
  if (kind == HOST_MEMORY) side.host = memory.pointer;
  else side.device = (Address)memory.pointer;
  return side;
}

DriverSide2D flat_side(const void *pointer, size_t pitch, MemoryKind kind) {
  DriverSide2D side = {.kind = kind, .pitch = pitch};
  if (kind == HOST_MEMORY) side.host = pointer;
  else side.device = (Address)pointer;
  return side;
}

DriverSide2D array_side_2d(Array array, size_t x_bytes, size_t y) {
  return {.x_bytes = x_bytes, .y = y, .kind = ARRAY_MEMORY, .array = array};
}

Error copy_flat(const DriverCopy2D &copy) {
  if (!copy.width_bytes || !copy.height) return SUCCESS;
  return driver::cuMemcpy2DUnaligned_v2(&copy);
}

Error copy_flat(const DriverCopy2D &copy, Stream stream) {
  if (!copy.width_bytes || !copy.height) return SUCCESS;
  return driver::cuMemcpy2DAsync_v2(&copy, stream);
}

Error copy_and_wait(const DriverCopy2D &copy) {
  Error error = copy_flat(copy, PER_THREAD_STREAM);
  return error ? error : driver::cuStreamSynchronize(PER_THREAD_STREAM);
}

// A copy of bytes that go on in the next row of an array.
struct WrappedCopy {
  Array array;
  size_t x_bytes, y;
  void *memory;
  size_t bytes;
  MemoryKind kind;
  bool is_to_array;
};

template <typename... Where>
Error copy_flat(const WrappedCopy &whole, Where... stream) {
  ArrayDescriptor about = {};
  if (Error error = driver::cuArray3DGetDescriptor_v2(&about, whole.array)) return error;
  size_t row = about.width * format_bytes(about.format) * about.channels, x = whole.x_bytes, y = whole.y, done = 0;
  if (!row || x >= row) return INVALID_VALUE;
  while (done < whole.bytes) {
    size_t rest = whole.bytes - done, width = rest < row - x ? rest : row - x, rows = width == row ? rest / row : 1;
    DriverSide2D array = array_side_2d(whole.array, x, y);
    DriverSide2D memory = flat_side((char *)whole.memory + done, width, whole.kind);
    DriverCopy2D part = {whole.is_to_array ? memory : array, whole.is_to_array ? array : memory, width, rows};
    if (Error error = copy_flat(part, stream...)) return error;
    done += width * rows, x = 0, y += rows;
  }
  return SUCCESS;
}

Error copy_and_wait(const WrappedCopy &copy) {
  Error error = copy_flat(copy, PER_THREAD_STREAM);
  return error ? error : driver::cuStreamSynchronize(PER_THREAD_STREAM);
}

DriverCopy2D flat(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                  size_t height, CopyKind kind) {
  return {flat_side(source, source_pitch, source_kind(kind)), flat_side(target, target_pitch, target_kind(kind)), width,
          height};
}

// Rows longer than a pitch would overlap.
bool fits(size_t width, size_t height, size_t target_pitch, size_t source_pitch) {
  return height < 2 || (width <= target_pitch && width <= source_pitch);
}

PitchedPointer pointer_back(const DriverSide3D &side) {
  return {side.kind == HOST_MEMORY ? (void *)side.host : (void *)side.device, side.pitch, side.pitch, side.height};
}

// By which memory the sides are.
CopyKind kind_of(const DriverCopy3D &copy) {
  if (copy.source.kind == UNIFIED_MEMORY || copy.target.kind == UNIFIED_MEMORY) return BY_ADDRESS;
  bool from_host = copy.source.kind == HOST_MEMORY, to_host = copy.target.kind == HOST_MEMORY;
  if (from_host) return to_host ? HOST_TO_HOST : HOST_TO_DEVICE;
  return to_host ? DEVICE_TO_HOST : DEVICE_TO_DEVICE;
}

template <typename How>
Error copy_box(const Copy3D *copy, How how) {
  if (!copy) return remember(INVALID_VALUE);
  return call([&] {
    DriverCopy3D converted = {};
    if (!copy->extent.width || !copy->extent.height || !copy->extent.depth) return (Error)SUCCESS;
    Error error = convert_copy(*copy, &converted);
    return error ? error : how(&converted);
  });
}

}  // namespace

Error convert_copy(const Copy3D &copy, DriverCopy3D *converted) {
  size_t bytes = 1;  // of an element: coordinates in linear memory are bytes, unless the other side is an array
  if (copy.kind < HOST_TO_HOST || copy.kind > BY_ADDRESS) return INVALID_MEMCPY_DIRECTION;
  if (Array array = copy.source_array ? copy.source_array : copy.target_array)
    if (Error error = element_bytes(array, &bytes)) return error;
  converted->source = copy.source_array ? array_side(copy.source_array, copy.source_position, bytes)
                                        : linear_side(copy.source, copy.source_position, source_kind(copy.kind));
  converted->target = copy.target_array ? array_side(copy.target_array, copy.target_position, bytes)
                                        : linear_side(copy.target, copy.target_position, target_kind(copy.kind));
  converted->width_bytes = copy.extent.width * bytes;
  converted->height = copy.extent.height;
  converted->depth = copy.extent.depth;
  return SUCCESS;
}

Copy3D convert_copy_back(const DriverCopy3D &copy) {
  Copy3D back = {};
  size_t bytes = 1;
  Array array = copy.source.array ? copy.source.array : copy.target.array;
  if (array && element_bytes(array, &bytes)) bytes = 1;
  back.source_array = copy.source.array;
  back.target_array = copy.target.array;
  back.source_position = {copy.source.x_bytes / (copy.source.array ? bytes : 1), copy.source.y, copy.source.z};
  back.target_position = {copy.target.x_bytes / (copy.target.array ? bytes : 1), copy.target.y, copy.target.z};
  if (!back.source_array) back.source = pointer_back(copy.source);
  if (!back.target_array) back.target = pointer_back(copy.target);
  back.extent = {copy.width_bytes / bytes, copy.height, copy.depth};
  back.kind = kind_of(copy);
  return back;
}

Copy3D linear_copy(void *target, const void *source, size_t bytes, CopyKind kind) {
  Copy3D copy = {};
  copy.source = {(void *)source, bytes, bytes, 1};
  copy.target = {target, bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

API Error cudaMemcpy3D(const Copy3D *copy) {
  return copy_box(copy, [](const DriverCopy3D *converted) { return driver::cuMemcpy3D_v2(converted); });
}

API Error cudaMemcpy3DAsync(const Copy3D *copy, Stream stream) {
  return copy_box(copy, [&](const DriverCopy3D *converted) { return driver::cuMemcpy3DAsync_v2(converted, stream); });
}
PER_THREAD(cudaMemcpy3DAsync);

API Error cudaMemcpy3D_ptds(const Copy3D *copy) {
  return copy_box(copy, [](const DriverCopy3D *converted) {
    Error error = driver::cuMemcpy3DAsync_v2(converted, PER_THREAD_STREAM);
    return error ? error : driver::cuStreamSynchronize(PER_THREAD_STREAM);
  });
}

// ** two dimensions. FLAT_COPY exports NAME, NAMEAsync and their variants for a thread's stream; `parameters` and the
// `copy` made of them are without the stream.

#define ARGUMENTS(...) __VA_ARGS__
#define FLAT_COPY(name, parameters, allowed, copy) \
  API Error name(ARGUMENTS parameters) { \
    return call([&] { return allowed ? copy_flat(copy) : INVALID_PITCH_VALUE; }); \
  } \
  API Error name##_ptds(ARGUMENTS parameters) { \
    return call([&] { return allowed ? copy_and_wait(copy) : INVALID_PITCH_VALUE; }); \
  } \
  API Error name##Async(ARGUMENTS parameters, Stream stream) { \
    return call([&] { return allowed ? copy_flat(copy, stream) : INVALID_PITCH_VALUE; }); \
  } \
  PER_THREAD(name##Async)

FLAT_COPY(cudaMemcpy2D,
          (void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width, size_t height,
           CopyKind kind),
          fits(width, height, target_pitch, source_pitch),
          flat(target, target_pitch, source, source_pitch, width, height, kind));

FLAT_COPY(cudaMemcpy2DToArray,
          (Array target, size_t x_bytes, size_t y, const void *source, size_t pitch, size_t width, size_t height,
           CopyKind kind),
          fits(width, height, width, pitch),
          (DriverCopy2D{flat_side(source, pitch, source_kind(kind)), array_side_2d(target, x_bytes, y), width,
                        height}));

FLAT_COPY(
    cudaMemcpy2DFromArray,
    (void *target, size_t pitch, Array source, size_t x_bytes, size_t y, size_t width, size_t height, CopyKind kind),
    fits(width, height, pitch, width),
    (DriverCopy2D{array_side_2d(source, x_bytes, y), flat_side(target, pitch, target_kind(kind)), width, height}));

FLAT_COPY(cudaMemcpyToArray, (Array target, size_t x_bytes, size_t y, const void *source, size_t bytes, CopyKind kind),
          true, (WrappedCopy{target, x_bytes, y, (void *)source, bytes, source_kind(kind), true}));

FLAT_COPY(cudaMemcpyFromArray, (void *target, Array source, size_t x_bytes, size_t y, size_t bytes, CopyKind kind),
          true, (WrappedCopy{source, x_bytes, y, target, bytes, target_kind(kind), false}));

API Error cudaMemcpy2DArrayToArray(Array target, size_t target_x, size_t target_y, Array source, size_t source_x,
                                   size_t source_y, size_t width, size_t height, CopyKind) {
  return call([&] {
    return copy_flat(
        {array_side_2d(source, source_x, source_y), array_side_2d(target, target_x, target_y), width, height});
  });
}
