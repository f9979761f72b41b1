// CUDA arrays.
#include "arrays.h"

DRIVER(cuArray3DCreate_v2, Array *, const ArrayDescriptor *)
DRIVER(cuArray3DGetDescriptor_v2, ArrayDescriptor *, Array)
DRIVER(cuArrayDestroy, Array)

namespace {

enum : int { SIGNED, UNSIGNED, FLOAT };

// CUarray_format of a component; 0 if there is none.
u32 format_of(int bits, int kind) {
  u32 width = bits == 8 ? 0 : bits == 16 ? 1 : 2;
  if (bits != 8 && bits != 16 && bits != 32) return 0;
  if (kind == UNSIGNED) return 0x01 + width;
  if (kind == SIGNED) return 0x08 + width;
  return kind == FLOAT && bits == 16 ? 0x10 : kind == FLOAT && bits == 32 ? 0x20 : 0;
}

}  // namespace

Error convert_channels(const Channels &channels, ArrayDescriptor *description) {
  u32 count = 0;
  while (count < 4 && channels.bits[count]) count++;
  description->format = count ? format_of(channels.bits[0], channels.kind) : 0;
  description->channels = count;
  for (u32 i = 1; i < count; i++)
    if (channels.bits[i] != channels.bits[0]) return 20;  // cudaErrorInvalidChannelDescriptor
  return description->format && count != 3 ? SUCCESS : 20;
}

namespace {

Channels convert_channels_back(const ArrayDescriptor &description) {
  u32 format = description.format;
  int kind = format >= 0x10 ? FLOAT : format >= 0x08 ? SIGNED : UNSIGNED;
  int bits = format == 0x10 ? 16 : format == 0x20 ? 32 : 8 << (format & 7) >> (kind == UNSIGNED);
  Channels channels = {.bits = {}, .kind = kind};
  for (u32 i = 0; i < description.channels && i < 4; i++) channels.bits[i] = bits;
  return channels;
}

Error create(Array *array, const Channels *channels, const Extent &extent, u32 flags) {
  ArrayDescriptor description = {extent.width, extent.height, extent.depth, 0, 0, flags};
  if (!array || !channels) return INVALID_VALUE;
  Error error = convert_channels(*channels, &description);
  return error ? error : driver::cuArray3DCreate_v2(array, &description);
}

}  // namespace

API Channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {{x, y, z, w}, kind}; }

API Error cudaMallocArray(Array *array, const Channels *channels, size_t width, size_t height, u32 flags) {
  return call([&] { return create(array, channels, {width, height, 0}, flags); });
}

API Error cudaMalloc3DArray(Array *array, const Channels *channels, Extent extent, u32 flags) {
  return call([&] { return create(array, channels, extent, flags); });
}

API Error cudaFreeArray(Array array) {
  return call([&] { return array ? driver::cuArrayDestroy(array) : SUCCESS; });
}

API Error cudaArrayGetInfo(Channels *channels, Extent *extent, u32 *flags, Array array) {
  return call([&] {
    ArrayDescriptor description = {};
    Error error = driver::cuArray3DGetDescriptor_v2(&description, array);
    if (error) return error;
    if (channels) *channels = convert_channels_back(description);
    if (extent) *extent = {description.width, description.height, description.depth};
    if (flags) *flags = description.flags;
    return (Error)SUCCESS;
  });
}

API Error cudaGetChannelDesc(Channels *channels, Array array) {
  return cudaArrayGetInfo(channels, nullptr, nullptr, array);
}
