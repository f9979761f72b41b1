// cudaMemset and its like.
#include "runtime.h"

DRIVER(cuMemsetD8_v2, Address, u8, size_t)
DRIVER(cuMemsetD8Async, Address, u8, size_t, Stream)
DRIVER(cuMemsetD2D8_v2, Address, size_t, u8, size_t, size_t)
DRIVER(cuMemsetD2D8Async, Address, size_t, u8, size_t, size_t, Stream)

namespace {

// Fills a box row by row of its planes: one two-dimensional fill a plane, or one in all if planes follow one another.
template <typename Fill>
Error fill_box(const PitchedPointer &to, const Extent &extent, Fill fill) {
  if (!extent.width || !extent.height || !extent.depth) return SUCCESS;
  auto start = (Address)to.pointer;
  if (extent.height == to.height || extent.depth == 1) return fill(start, extent.height * extent.depth);
  for (size_t z = 0; z < extent.depth; z++)
    if (Error error = fill(start + z * to.pitch * to.height, extent.height)) return error;
  return SUCCESS;
}

}  // namespace

API Error cudaMemset(void *target, int value, size_t bytes) {
  return call([&] { return bytes ? driver::cuMemsetD8_v2((Address)target, (u8)value, bytes) : SUCCESS; });
}

API Error cudaMemsetAsync(void *target, int value, size_t bytes, Stream stream) {
  return call([&] { return bytes ? driver::cuMemsetD8Async((Address)target, (u8)value, bytes, stream) : SUCCESS; });
}
PER_THREAD(cudaMemsetAsync);

API Error cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height) {
  if (!width || !height) return SUCCESS;
  return call([&] { return driver::cuMemsetD2D8_v2((Address)target, pitch, (u8)value, width, height); });
}

API Error cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  if (!width || !height) return SUCCESS;
  return call([&] { return driver::cuMemsetD2D8Async((Address)target, pitch, (u8)value, width, height, stream); });
}
PER_THREAD(cudaMemset2DAsync);

API Error cudaMemset3D(PitchedPointer to, int value, Extent extent) {
  return call([&] {
    return fill_box(to, extent, [&](Address at, size_t rows) {
      return driver::cuMemsetD2D8_v2(at, to.pitch, (u8)value, extent.width, rows);
    });
  });
}

API Error cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, Stream stream) {
  return call([&] {
    return fill_box(to, extent, [&](Address at, size_t rows) {
      return driver::cuMemsetD2D8Async(at, to.pitch, (u8)value, extent.width, rows, stream);
    });
  });
}
PER_THREAD(cudaMemset3DAsync);

// A fill returns before it is done, so these need not wait.
API Error cudaMemset_ptds(void *target, int value, size_t bytes) {
  return cudaMemsetAsync(target, value, bytes, PER_THREAD_STREAM);
}

API Error cudaMemset2D_ptds(void *target, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(target, pitch, value, width, height, PER_THREAD_STREAM);
}

API Error cudaMemset3D_ptds(PitchedPointer to, int value, Extent extent) {
  return cudaMemset3DAsync(to, value, extent, PER_THREAD_STREAM);
}
