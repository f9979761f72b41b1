// Texture and surface objects.
#include "arrays.h"

namespace {

// CUDA_RESOURCE_DESC
struct DriverResource {
  u32 type;
  union {
    Array array;
    struct {
      Address data;
      u32 format, channels;
      size_t bytes;
    } linear;
    struct {
      Address data;
      u32 format, channels;
      size_t width, height, pitch;
    } pitched;
    int reserved[32];
  };
  u32 flags;
};

// CUDA_TEXTURE_DESC
struct DriverTexture {
  u32 address_modes[3], filter, flags, anisotropy, mipmap_filter;
  float bias, least_level, most_level, border[4];
  int reserved[12];
};

}  // namespace

DRIVER(cuTexObjectCreate, u64 *, const DriverResource *, const DriverTexture *, const void *)
DRIVER(cuSurfObjectCreate, u64 *, const DriverResource *)
DRIVER(cuTexObjectDestroy, u64)
DRIVER(cuSurfObjectDestroy, u64)

namespace {

enum : u32 { OF_ARRAY, OF_MIPMAPS, OF_LINEAR, OF_PITCHED };  // the same in both

// cudaResourceDesc
struct Resource {
  u32 type;
  union {
    Array array;
    struct {
      void *data;
      Channels channels;
      size_t bytes;
    } linear;
    struct {
      void *data;
      Channels channels;
      size_t width, height, pitch;
    } pitched;
    int reserved[32];
  };
  u32 flags;
};

// cudaTextureDesc
struct Texture {
  u32 address_modes[3], filter, gives_floats, is_srgb;
  float border[4];
  u32 is_normalized, anisotropy, mipmap_filter;
  float bias, least_level, most_level;
  u32 without_trilinear, seamless;
};

Error convert(const Resource &from, DriverResource *to) {
  *to = {.type = from.type};
  ArrayDescriptor of = {};
  switch (from.type) {
    case OF_ARRAY:
    case OF_MIPMAPS: to->array = from.array; return SUCCESS;
    case OF_LINEAR:
      if (Error error = convert_channels(from.linear.channels, &of)) return error;
      to->linear = {(Address)from.linear.data, of.format, of.channels, from.linear.bytes};
      return SUCCESS;
    case OF_PITCHED: {
      const auto &pitched = from.pitched;
      if (Error error = convert_channels(pitched.channels, &of)) return error;
      to->pitched = {(Address)pitched.data, of.format, of.channels, pitched.width, pitched.height, pitched.pitch};
      return SUCCESS;
    }
    default: return INVALID_VALUE;
  }
}

DriverTexture convert(const Texture &from) {
  DriverTexture to = {};
  for (int i = 0; i < 3; i++) to.address_modes[i] = from.address_modes[i];
  for (int i = 0; i < 4; i++) to.border[i] = from.border[i];
  to.filter = from.filter, to.anisotropy = from.anisotropy, to.mipmap_filter = from.mipmap_filter;
  to.flags = (from.gives_floats ? 0 : 1) | (from.is_normalized ? 2 : 0) | (from.is_srgb ? 16 : 0);
  to.bias = from.bias, to.least_level = from.least_level, to.most_level = from.most_level;
  return to;
}

}  // namespace

API Error cudaCreateTextureObject(u64 *handle, const Resource *resource, const Texture *texture, const void *view) {
  return call([&] {
    DriverResource converted;
    if (!handle || !resource || !texture) return (Error)INVALID_VALUE;
    if (Error error = convert(*resource, &converted)) return error;
    DriverTexture description = convert(*texture);
    return driver::cuTexObjectCreate(handle, &converted, &description, view);
  });
}

API Error cudaCreateSurfaceObject(u64 *handle, const Resource *resource) {
  return call([&] {
    DriverResource converted;
    if (!handle || !resource) return (Error)INVALID_VALUE;
    if (Error error = convert(*resource, &converted)) return error;
    return driver::cuSurfObjectCreate(handle, &converted);
  });
}

API Error cudaDestroyTextureObject(u64 handle) {
  return call([&] { return handle ? driver::cuTexObjectDestroy(handle) : SUCCESS; });
}

API Error cudaDestroySurfaceObject(u64 handle) {
  return call([&] { return handle ? driver::cuSurfObjectDestroy(handle) : SUCCESS; });
}
