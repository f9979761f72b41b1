// Copies. Memory of the device must be in a block; memory of the host may be anywhere.  CUDA driver API:
// memory management.
#include "accesses.h"
#include "arrays.h"
#include "streams.h"

namespace driver {
namespace {

enum : u32 { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };  // CUmemorytype

Result side_of_array(const Place &place, u64 x, u64 y, u64 z, const Extent &box, Side *side) {
  Array *array = of<Array>((void *)place.array);
  REFUSE_IF(!array, INVALID_HANDLE);
  REFUSE_IF(x + box.width > array->row_bytes || y + box.height > array->rows, INVALID_VALUE);
  REFUSE_IF(z + box.depth > array->planes, INVALID_VALUE);
  *side = {array->data + (z * array->rows + y) * array->row_bytes + x, array->row_bytes, array->rows, true};
  return SUCCESS;
}

Result side_of(const Place &place, u64 x, u64 y, u64 z, const Extent &box, Side *side) {
  if (place.memory == ARRAY) return side_of_array(place, x, y, z, box, side);
  if (place.memory != HOST && place.memory != DEVICE && place.memory != UNIFIED) return INVALID_VALUE;
  side->is_device = place.memory == DEVICE || (place.memory == UNIFIED && block_of(place.device));
  Address start = place.memory == HOST ? place.host : place.device;
  side->pitch = place.pitch ? place.pitch : x + box.width;
  side->height = place.height ? place.height : y + box.height;
  if (side->pitch < x + box.width || (box.depth > 1 && side->height < y + box.height)) return INVALID_VALUE;
  side->start = start + (z * side->height + y) * side->pitch + x;
  u64 span = ((box.depth - 1) * side->height + box.height - 1) * side->pitch + box.width;
  return !start || (side->is_device && !holds(side->start, span)) ? INVALID_VALUE : SUCCESS;
}

}  // namespace

Result sides_of(const BoxCopy &copy, Side *from, Side *to) {
  if (Result bad = side_of(copy.from, copy.from_x, copy.from_y, copy.from_z, copy.box, from)) return bad;
  return side_of(copy.to, copy.to_x, copy.to_y, copy.to_z, copy.box, to);
}

Result check(const Copy &copy) {
  if (!copy.nbytes) return SUCCESS;
  if (!copy.to || !copy.from) return INVALID_VALUE;
  bool is_possible =
      (!copy.is_to_device || holds(copy.to, copy.nbytes)) && (!copy.is_from_device || holds(copy.from, copy.nbytes));
  return is_possible ? SUCCESS : INVALID_VALUE;
}

Result check(const BoxCopy &copy) {
  Side from, to;
  return is_empty(copy.box) ? SUCCESS : sides_of(copy, &from, &to);
}

Result run(const Copy &each) {
  if (Result bad = check(each)) return bad;
  if (!each.nbytes) return SUCCESS;
  memmove((void *)each.to, (void *)each.from, each.nbytes);
  note_copied(each.to, each.from, each.nbytes);
  return SUCCESS;
}

Result run(const BoxCopy &copy) {
  if (is_empty(copy.box)) return SUCCESS;
  Side from, to;
  if (Result bad = sides_of(copy, &from, &to)) return bad;
  for (u64 z = 0; z < copy.box.depth; ++z)
    for (u64 y = 0; y < copy.box.height; ++y) {
      Address target = to.start + (z * to.height + y) * to.pitch;
      Address source = from.start + (z * from.height + y) * from.pitch;
      memmove((void *)target, (void *)source, copy.box.width);
      if (copy.from.memory == ARRAY) note_written(target, copy.box.width);  // surfaces may have written the texels
      else note_copied(target, source, copy.box.width);
    }
  return SUCCESS;
}

}  // namespace driver

using namespace driver;

// CUDA_MEMCPY2D and CUDA_MEMCPY3D, as the driver API documents their members.
struct Memcpy2D {
  u64 from_x, from_y;
  u32 from_memory;
  Address from_host, from_device, from_array;
  u64 from_pitch, to_x, to_y;
  u32 to_memory;
  Address to_host, to_device, to_array;
  u64 to_pitch, width, height;
};

struct Memcpy3D {
  u64 from_x, from_y, from_z, from_level;
  u32 from_memory;
  Address from_host, from_device, from_array, from_reserved;
  u64 from_pitch, from_height, to_x, to_y, to_z, to_level;
  u32 to_memory;
  Address to_host, to_device, to_array, to_reserved;
  u64 to_pitch, to_height, width, height, depth;
};

static BoxCopy box_copy(const Memcpy2D &a) {
  return {{a.from_memory, a.from_host, a.from_device, a.from_pitch, 0, a.from_array},
          a.from_x,
          a.from_y,
          0,
          {a.to_memory, a.to_host, a.to_device, a.to_pitch, 0, a.to_array},
          a.to_x,
          a.to_y,
          0,
          {a.width, a.height, 1}};
}

BoxCopy driver::box_copy_3d(const void *parameters) {
  const Memcpy3D &a = *(const Memcpy3D *)parameters;
  return {{a.from_memory, a.from_host, a.from_device, a.from_pitch, a.from_height, a.from_array},
          a.from_x,
          a.from_y,
          a.from_z,
          {a.to_memory, a.to_host, a.to_device, a.to_pitch, a.to_height, a.to_array},
          a.to_x,
          a.to_y,
          a.to_z,
          {a.width, a.height, a.depth}};
}

static Result enqueue_copy(Address to, Address from, u64 nbytes, bool is_to_device, bool is_from_device, void *stream) {
  ENTER_CONTEXT;
  return enqueue(stream, Copy{to, from, nbytes, is_to_device, is_from_device});
}

static Result copy_now(Address to, Address from, u64 nbytes, bool is_to_device, bool is_from_device) {
  ENTER_CONTEXT;
  return enqueue(nullptr, Copy{to, from, nbytes, is_to_device, is_from_device}, How::FOR_PROGRAM);
}

API(cuMemcpy)(Address to, Address from, u64 nbytes) { return copy_now(to, from, nbytes, false, false); }
API(cuMemcpyHtoD_v2)(Address to, Address from, u64 nbytes) { return copy_now(to, from, nbytes, true, false); }
API(cuMemcpyDtoH_v2)(Address to, Address from, u64 nbytes) { return copy_now(to, from, nbytes, false, true); }
API(cuMemcpyDtoD_v2)(Address to, Address from, u64 nbytes) { return copy_now(to, from, nbytes, true, true); }

API(cuMemcpyAsync)(Address to, Address from, u64 nbytes, void *stream) {
  return enqueue_copy(to, from, nbytes, false, false, stream);
}
API(cuMemcpyHtoDAsync_v2)(Address to, Address from, u64 nbytes, void *stream) {
  return enqueue_copy(to, from, nbytes, true, false, stream);
}
API(cuMemcpyDtoHAsync_v2)(Address to, Address from, u64 nbytes, void *stream) {
  return enqueue_copy(to, from, nbytes, false, true, stream);
}
API(cuMemcpyDtoDAsync_v2)(Address to, Address from, u64 nbytes, void *stream) {
  return enqueue_copy(to, from, nbytes, true, true, stream);
}

API(cuMemcpyPeer)(Address to, Context *, Address from, Context *, u64 nbytes) {
  return copy_now(to, from, nbytes, true, true);
}
API(cuMemcpyPeerAsync)(Address to, Context *, Address from, Context *, u64 nbytes, void *stream) {
  return enqueue_copy(to, from, nbytes, true, true, stream);
}

API(cuMemcpy2D_v2)(const Memcpy2D *copy) {
  ENTER_CONTEXT;
  return copy ? enqueue(nullptr, box_copy(*copy), How::FOR_PROGRAM) : INVALID_VALUE;
}
API(cuMemcpy2DUnaligned_v2)(const Memcpy2D *copy) { return cuMemcpy2D_v2(copy); }
API(cuMemcpy3D_v2)(const Memcpy3D *copy) {
  ENTER_CONTEXT;
  return copy ? enqueue(nullptr, box_copy_3d(copy), How::FOR_PROGRAM) : INVALID_VALUE;
}
API(cuMemcpy2DAsync_v2)(const Memcpy2D *copy, void *stream) {
  ENTER_CONTEXT;
  return copy ? enqueue(stream, box_copy(*copy)) : INVALID_VALUE;
}
API(cuMemcpy3DAsync_v2)(const Memcpy3D *copy, void *stream) {
  ENTER_CONTEXT;
  return copy ? enqueue(stream, box_copy_3d(copy)) : INVALID_VALUE;
}
