// What a program hands over as a module: PTX text, a fat binary with PTX, or machine code, which cannot run here.
#pragma once
#include "api.h"

namespace driver {

enum class Packing : u32 { PLAIN, LZ4, ZSTD };

// PTX in an image.
struct Part {
  Packing packing;
  u64 raw_bytes, nbytes;
  const u8 *data;
};

// Add the PTX of an image to `parts`, more than one of an image that is to be linked. NO_BINARY, told with the fix,
// where it has none for this device.
Result parts_of(const void *image, Vector<Part> *parts);

// An image of several texts of PTX that are to be linked.
u8 *linked_image(Vector<Bytes> &texts, u64 *nbytes);

}  // namespace driver
