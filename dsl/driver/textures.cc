// Texture and surface objects. The emulator reads them where they are: a handle is the address of a block of the arena.
// CUDA driver API: texture object management, surface object management.
#include "arrays.h"
#include "pieces.h"
#include "unsupported.h"

namespace driver {
namespace {

// As dsl/emulator/families/texture/numbers.py has it.
struct Texture {
  u64 magic;
  Address data;
  u64 row_bytes, plane_bytes;
  u32 width, height, depth, format, channels, address_modes[3];
  u32 filters_linearly, is_normalized, reads_integers, is_linear, border[4];
};
constexpr u64 MAGIC = 0x6572757478657401;

enum : u32 { OF_ARRAY, OF_MIPMAPS, OF_LINEAR, OF_PITCHED };  // CUresourcetype

// CUDA_RESOURCE_DESC
struct Resource {
  u32 type;
  union {
    void *array;
    struct {
      Address data;
      u32 format, channels;
      u64 bytes;
    } linear;
    struct {
      Address data;
      u32 format, channels;
      u64 width, height, pitch;
    } pitched;
    int reserved[32];
  };
  u32 flags;
};

// CUDA_TEXTURE_DESC
struct Description {
  u32 address_modes[3], filter, flags, anisotropy, mipmap_filter;
  float bias, least_level, most_level, border[4];
  int reserved[12];
};
enum : u32 { READ_INTEGERS = 1, NORMALIZED = 2, SRGB = 16 };
enum : u32 { POINT, LINEAR };

Result of_array(const Array *array, Texture *made) {
  const ArrayDescriptor &about = array->description;
  made->data = array->data, made->row_bytes = array->row_bytes, made->plane_bytes = array->row_bytes * array->rows;
  made->width = (u32)about.width, made->height = (u32)array->rows, made->depth = (u32)array->planes;
  made->format = about.format, made->channels = about.channels;
  return SUCCESS;
}

Result of_memory(Address data, u32 format, u32 channels, u64 width, u64 height, u64 pitch, Texture *made) {
  REFUSE_IF(!bytes_of_format(format) || (channels != 1 && channels != 2 && channels != 4), INVALID_VALUE);
  REFUSE_IF(!width || !height || pitch < width * channels * bytes_of_format(format), INVALID_VALUE);
  REFUSE_IF(!holds(data, pitch * (height - 1) + width * channels * bytes_of_format(format)), INVALID_VALUE);
  made->data = data, made->row_bytes = pitch, made->plane_bytes = pitch * height;
  made->width = (u32)width, made->height = (u32)height, made->depth = 1, made->format = format;
  made->channels = channels;
  return SUCCESS;
}

Result of_resource(const Resource *from, Texture *made) {
  REFUSE_IF(!from, INVALID_VALUE);
  made->magic = MAGIC, made->reads_integers = true;
  if (from->type == OF_MIPMAPS) return unsupported("textures of mipmapped arrays");
  if (from->type == OF_ARRAY) {
    Array *array = of<Array>(from->array);
    return array ? of_array(array, made) : INVALID_HANDLE;
  }
  if (from->type == OF_LINEAR) {
    const auto &linear = from->linear;
    u64 texel = linear.channels * bytes_of_format(linear.format), width = texel ? linear.bytes / texel : 0;
    made->is_linear = true;
    return of_memory(linear.data, linear.format, linear.channels, width, 1, linear.bytes, made);
  }
  REFUSE_IF(from->type != OF_PITCHED, INVALID_VALUE);
  const auto &pitched = from->pitched;
  return of_memory(pitched.data, pitched.format, pitched.channels, pitched.width, pitched.height, pitched.pitch, made);
}

Result describe(const Description &from, Texture *made) {
  if (from.flags & SRGB) return unsupported("textures with sRGB");
  if (from.anisotropy > 1) return unsupported("textures with anisotropic filters");
  made->is_normalized = !!(from.flags & NORMALIZED), made->reads_integers = from.flags & READ_INTEGERS;
  made->filters_linearly = from.filter == LINEAR;
  bool gives_floats = made->format >= 0x10 || (!made->reads_integers && bytes_of_format(made->format) < 4);
  REFUSE_IF(from.filter > LINEAR || (made->filters_linearly && !gives_floats), INVALID_VALUE);
  for (u32 mode : from.address_modes) REFUSE_IF(mode > 3, INVALID_VALUE);
  memcpy(made->address_modes, from.address_modes, sizeof made->address_modes);
  memcpy(made->border, from.border, sizeof made->border);
  return SUCCESS;
}

Result publish(Address *handle, const Texture &texture) {
  REFUSE_IF(!handle, INVALID_VALUE);
  if (Result failed = allocate(handle, sizeof texture, Memory::DEVICE, 0)) return failed;
  memcpy((void *)*handle, &texture, sizeof texture);
  note_written(*handle, sizeof texture);
  return SUCCESS;
}

Result destroy(Context *context, Address handle) {
  Block *block = block_of(handle);
  REFUSE_IF(!block || block->start != handle || block->bytes != sizeof(Texture), INVALID_VALUE);
  REFUSE_IF(((Texture *)handle)->magic != MAGIC, INVALID_VALUE);
  if (Result bad = wait_for_all(context)) return bad;
  return release(handle);
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuTexObjectCreate)(Address *handle, const Resource *resource, const Description *description, const void *view) {
  ENTER_CONTEXT;
  REFUSE_IF(!description, INVALID_VALUE);
  if (view) return unsupported("views of resources (CUDA_RESOURCE_VIEW_DESC)");
  Texture texture = {};
  if (Result bad = of_resource(resource, &texture)) return bad;
  if (Result bad = describe(*description, &texture)) return bad;
  return publish(handle, texture);
}

API(cuSurfObjectCreate)(Address *handle, const Resource *resource) {
  ENTER_CONTEXT;
  REFUSE_IF(!resource || resource->type != OF_ARRAY, INVALID_VALUE);
  Texture texture = {};
  if (Result bad = of_resource(resource, &texture)) return bad;
  return publish(handle, texture);
}

API(cuTexObjectDestroy)(Address handle) {
  ENTER_CONTEXT;
  return destroy(context, handle);
}

API(cuSurfObjectDestroy)(Address handle) {
  ENTER_CONTEXT;
  return destroy(context, handle);
}
