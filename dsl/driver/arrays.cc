// CUDA arrays.  CUDA driver API: memory management, cuArray*.
#include "arrays.h"

#include "pieces.h"
#include "streams.h"
#include "unsupported.h"

namespace driver {

u32 bytes_of_format(u32 format) {
  switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    case 0x03:
    case 0x0a:
    case 0x20: return 4;
    default: return 0;
  }
}

namespace {

Result create(Array **made, const ArrayDescriptor &description) {
  u32 channels = description.channels, flags = description.flags, bytes = bytes_of_format(description.format);
  REFUSE_IF(!made || !description.width || (channels != 1 && channels != 2 && channels != 4), INVALID_VALUE);
  if (!bytes) return unsupported("cuArrayCreate of this format");
  if (flags & ~(LAYERED | SURFACE | CUBEMAP | GATHER)) return unsupported("cuArray3DCreate with these flags");
  REFUSE_IF(description.depth && !description.height && !(flags & LAYERED), INVALID_VALUE);
  REFUSE_IF(flags & CUBEMAP && (description.width != description.height || !description.depth), INVALID_VALUE);
  REFUSE_IF(flags & CUBEMAP && (flags & LAYERED ? description.depth % 6 : description.depth != 6), INVALID_VALUE);
  u64 row_bytes = description.width * channels * bytes, rows = description.height ? description.height : 1;
  u64 planes = description.depth ? description.depth : 1;
  Address data = 0;
  if (Result failed = allocate(&data, row_bytes * rows * planes, Memory::DEVICE, 0)) return failed;
  Array *array = make<Array>();
  array->description = description, array->data = data;
  array->row_bytes = row_bytes, array->rows = rows, array->planes = planes;
  *made = array;
  return SUCCESS;
}

}  // namespace
}  // namespace driver

using namespace driver;

// CUDA_ARRAY_DESCRIPTOR
struct FlatDescriptor {
  u64 width, height;
  u32 format, channels;
};

API(cuArray3DCreate_v2)(Array **made, const ArrayDescriptor *description) {
  ENTER_CONTEXT;
  return description ? create(made, *description) : INVALID_VALUE;
}

API(cuArrayCreate_v2)(Array **made, const FlatDescriptor *flat) {
  ENTER_CONTEXT;
  return flat ? create(made, {flat->width, flat->height, 0, flat->format, flat->channels, 0}) : INVALID_VALUE;
}

API(cuArrayDestroy)(void *handle) {
  ENTER_CONTEXT;
  Array *array = of<Array>(handle);
  REFUSE_IF(!array, INVALID_HANDLE);
  if (Result bad = wait_for_all(context)) return bad;
  release(array->data);
  drop_object(array);
  return SUCCESS;
}

API(cuArray3DGetDescriptor_v2)(ArrayDescriptor *description, void *handle) {
  ENTER_CONTEXT;
  Array *array = of<Array>(handle);
  REFUSE_IF(!array, INVALID_HANDLE);
  REFUSE_IF(!description, INVALID_VALUE);
  *description = array->description;
  return SUCCESS;
}

API(cuArrayGetDescriptor_v2)(FlatDescriptor *flat, void *handle) {
  ENTER_CONTEXT;
  Array *array = of<Array>(handle);
  REFUSE_IF(!array, INVALID_HANDLE);
  REFUSE_IF(!flat, INVALID_VALUE);
  const ArrayDescriptor &whole = array->description;
  *flat = {whole.width, whole.height, whole.format, whole.channels};
  return SUCCESS;
}

// Copies of bytes that begin at a byte of an array, whose rows follow each other.
static Address inside(void *handle, u64 offset, u64 nbytes) {
  Array *array = of<Array>(handle);
  if (!array || offset > array->row_bytes * array->rows * array->planes) return 0;
  return array->row_bytes * array->rows * array->planes - offset >= nbytes ? array->data + offset : 0;
}

static Result copy_bytes(Address to, Address from, u64 nbytes, bool is_to_device, bool is_from_device) {
  ENTER_CONTEXT;
  if (!to || !from) return INVALID_VALUE;
  return enqueue(nullptr, Copy{to, from, nbytes, is_to_device, is_from_device}, How::FOR_PROGRAM);
}

static Result copy_bytes_in(void *stream, Address to, Address from, u64 nbytes, bool is_to_device) {
  ENTER_CONTEXT;
  return to && from ? enqueue(stream, Copy{to, from, nbytes, is_to_device, !is_to_device}) : INVALID_VALUE;
}

API(cuMemcpyAtoA_v2)(void *to, u64 to_offset, void *from, u64 from_offset, u64 nbytes) {
  return copy_bytes(inside(to, to_offset, nbytes), inside(from, from_offset, nbytes), nbytes, true, true);
}
API(cuMemcpyAtoD_v2)(Address to, void *from, u64 offset, u64 nbytes) {
  return copy_bytes(to, inside(from, offset, nbytes), nbytes, true, true);
}
API(cuMemcpyDtoA_v2)(void *to, u64 offset, Address from, u64 nbytes) {
  return copy_bytes(inside(to, offset, nbytes), from, nbytes, true, true);
}
API(cuMemcpyAtoH_v2)(Address to, void *from, u64 offset, u64 nbytes) {
  return copy_bytes(to, inside(from, offset, nbytes), nbytes, false, true);
}
API(cuMemcpyHtoA_v2)(void *to, u64 offset, Address from, u64 nbytes) {
  return copy_bytes(inside(to, offset, nbytes), from, nbytes, true, false);
}
API(cuMemcpyAtoHAsync_v2)(Address to, void *from, u64 offset, u64 nbytes, void *stream) {
  return copy_bytes_in(stream, to, inside(from, offset, nbytes), nbytes, false);
}
API(cuMemcpyHtoAAsync_v2)(void *to, u64 offset, Address from, u64 nbytes, void *stream) {
  return copy_bytes_in(stream, inside(to, offset, nbytes), from, nbytes, true);
}
