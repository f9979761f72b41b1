// Copies of boxes of a tensor that a tensor map describes. PTX ISA 5.5 (tensors), 9.7.9.27 (cp.async.bulk.tensor).
//
// A box is copied row by row, in chunks of 16 bytes, which a swizzle permutes: the chunk's number in its line of 128
// bytes, bits 4 to 6 of the address, is xored with bits 7 to 9, as many as the swizzle has. Elements outside the tensor
// are read as zeros (or a NaN) and never written. Floats are rounded to TF32 if the map has that type. A chunk of 16
// padded elements has 8 or 12 bytes of data, and what follows them stays as it is: nothing says what is there.
//
// No document requires that a box begins at a multiple of 16 bytes of its row, but an H100 stops at others with an
// illegal instruction (triton-lang/triton issue 7385, tile-ai/tilelang issue 2527). The NaN is the one seen on an H100.
#include "families/tensor_map/box_copies.h"
#include "families/reduction/bulk_reductions.h"

namespace {

constexpr i64 CHUNK_BYTES = 16;

// A walk over a box: a visit, or a copy.
struct Walk {
  const TensorMap &map;
  const i32 *coords;
  Visit visit;  // null: it copies
  void *data;
  u64 smem = 0;
  bool loads = false;
  u32 reduction = 0;

  bool visits(u64 address, i64 size) const { return visit(data, address, size); }
  void move_row(u64 to, u64 row, i64 at, i64 size, bool inside) const;
  void move_swizzled(u64 address, u64 tensor, i64 low, i64 size) const;
  void move_chunk(u8 *place, u64 tensor, i64 low, i64 size) const;
};

// Floats of the chunk that are inside the tensor, rounded to the nearest TF32, ties away from zero.
void round_to_tf32(u32 *floats, i64 low, i64 size) {
  for (i64 i = 0; i < 4; ++i) {
    u32 bits = floats[i], magnitude = bits & 0x7FFFFFFF;
    if (4 * i < low || 4 * i >= low + size) continue;
    if (magnitude > 0x7F800000) floats[i] = 0x7FFFE000;
    else if (magnitude != 0x7F800000) floats[i] = (bits + (1 << 12)) & ~0u << 13;
  }
}

// One chunk, of which `size` bytes from `low` on are inside the tensor; the others of shared memory are filled when
// loading, with zeros, or 0x7ff7 repeated, a NaN of each type.
void Walk::move_chunk(u8 *place, u64 tensor, i64 low, i64 size) const {
  u8 *inner = place + low, *inside = (u8 *)tensor + low;
  if (loads) {
    u64 fill = map.fills() ? 0x7FF77FF77FF77FF7 : 0;
    if (size != map.chunk_bytes())
      for (u32 half = 0; half < 2; ++half) __builtin_memcpy(place + 8 * half, &fill, 8);
    if (!size) return;
    __builtin_memmove(inner, inside, size);
    if (map.is_tf32()) round_to_tf32((u32 *)place, low, size);
  } else if (size) {
    if (reduction) bulk_reduce(inside, inner, size, reduction);
    else __builtin_memmove(inside, inner, size);
  }
}

// The same at an address before the swizzle, which may exchange the halves of the chunk.
void Walk::move_swizzled(u64 address, u64 tensor, i64 low, i64 size) const {
  u64 *place = (u64 *)map.swizzled(address);
  if (!map.flips(address)) return move_chunk((u8 *)place, tensor, low, size);
  u64 halves[2] = {place[1], place[0]};
  move_chunk((u8 *)halves, tensor, low, size);
  if (loads) place[0] = halves[1], place[1] = halves[0];
}

// `size` bytes of shared memory from `to` on, of a row of the tensor from its byte `at` on; `inside`: the row is.
void Walk::move_row(u64 to, u64 row, i64 at, i64 size, bool inside) const {
  const i64 chunk = map.chunk_bytes(), end = map.channel_bytes();
  for (i64 offset = 0; offset + CHUNK_BYTES <= size; offset += CHUNK_BYTES, at += chunk) {
    i64 low = min(max<i64>(-at, 0), chunk), high = min(max(end - at, low), chunk);
    move_swizzled(to + offset, row + at, low, inside ? high - low : 0);
  }
}

// Walk over the pixels of a column: the im2col mode. PTX ISA 5.5.4, 9.7.9.27.
//
// Dimension 0 is the channels; then W, H, D as there are, and last N. A column begins at the pixel of the coordinates
// and goes on along W, then H, D and N, in steps of the element strides, within a box: from the lower corner to the
// last pixel plus the upper corner. The offsets, of a filter's taps, are added to each pixel; what is then outside the
// tensor is filled.
bool walk_pixels(const Walk &walk) {
  const TensorMap &map = walk.map;
  const i64 row_bytes = map.row_bytes(), start = map.bytes_of(walk.coords[0]), batch = map.rank() - 1;
  i64 pixel[DIMENSIONS];
  for (u32 i = 1; i < DIMENSIONS; ++i) pixel[i] = walk.coords[i];
  for (i64 number = 0; number < map.pixels(); ++number) {
    bool inside = true;
    u64 source = map.address;
    for (u32 i = 1; i < DIMENSIONS; ++i) {
      i64 tap = i < DIMENSIONS - 1 && i != batch ? (u32)walk.coords[DIMENSIONS + i - 1] : 0;  // N has no offset
      u64 position = pixel[i] + tap;
      inside &= position <= map.last[i];
      source += position * map.stride_bytes(i);
    }
    if (!walk.visit) walk.move_row(walk.smem + number * row_bytes, source, start, row_bytes, inside);
    else if (inside) {
      i64 low = max<i64>(start, 0), high = min(start + map.global_row_bytes(), map.channel_bytes());
      if (low < high && !walk.visits(source + low, high - low)) return false;
    }
    // On to the next pixel: along W, and where the box ends back to its corner and along the next dimension.
    for (u32 i = 1; i < DIMENSIONS; ++i) {
      pixel[i] += map.element_step(i);
      if (i == DIMENSIONS - 1 || i == batch || pixel[i] <= map.last[i] + map.corner(i, true)) break;
      pixel[i] = map.corner(i, false);
    }
  }
  return true;
}

// The pixels of a wide map: along W from the first on, in a box from the lower corner to the last pixel plus the upper
// corner, all moved by the offset; then along W in the next image. PTX ISA 5.5.5.
struct WidePixel {
  const TensorMap &map;
  i64 offset, w, image;
  WidePixel(const TensorMap &map, const i32 *coords)
      : map(map),
        offset((u32)coords[DIMENSIONS + 1]),
        w(coords[1] + (i64)(u32)coords[DIMENSIONS + 1]),
        image(coords[map.last_dimension()]) {}
  bool is_past_row() const { return w > map.last[1] + map.corner(1, true) + offset; }
  void step_in_row() { w += map.element_step(1); }
  void step() {
    step_in_row();
    if (is_past_row()) w = map.corner(1, false) + offset, ++image;
  }
};

// Where a pixel of a column is, if the tensor has it.
struct Place {
  bool inside = true;
  u64 source;
  Place(const WidePixel &pixel, const i32 *coords) : source(pixel.map.address) {
    const TensorMap &map = pixel.map;
    for (u32 i = 1; i <= map.last_dimension(); ++i) {
      u64 position = i == 1 ? pixel.w : i == map.last_dimension() ? pixel.image : coords[i];
      inside &= position <= map.last[i];
      source += position * map.stride_bytes(i);
    }
  }
};

// `each(pixel, is_halo)` for the pixels that a wide map's copy has, in the order of shared memory: after each group
// those of the halo, which go on from its last one. The next group goes on there too.
template <class Each> bool for_wide_pixels(const TensorMap &map, const i32 *coords, Each each) {
  WidePixel pixel(map, coords);
  for (i64 number = 0; number < map.pixels();) {
    if (!each(pixel, false)) return false;
    pixel.step();
    if (++number % map.group_pixels()) continue;
    WidePixel halo = pixel;
    for (u32 i = 0; i < (u32)coords[DIMENSIONS]; ++i, halo.step())
      if (!each(halo, true)) return false;
  }
  return true;
}

bool walk_wide_pixels(const Walk &walk) {
  const TensorMap &map = walk.map;
  const i64 row_bytes = map.row_bytes(), start = map.bytes_of(walk.coords[0]);
  i64 number = 0;
  return for_wide_pixels(map, walk.coords, [&](const WidePixel &pixel, bool) {
    const Place place(pixel, walk.coords);
    if (!walk.visit) walk.move_row(walk.smem + number++ * row_bytes, place.source, start, row_bytes, place.inside);
    else if (place.inside) {
      i64 low = max<i64>(start, 0), high = min(start + map.global_row_bytes(), map.channel_bytes());
      if (low < high && !walk.visits(place.source + low, high - low)) return false;
    }
    return true;
  });
}

// Walk over the slices of the pixels of a box of an interleaved tensor: NC/8HWC8 and its like. PTX ISA 5.5.6; CUDA
// driver API, cuTensorMapEncodeTiled.
//
// Channels are in slices of 16 or 32 bytes. Dimension 0 is the channels, then W, H, D as there are, and last N; the
// order in memory, and of a box in shared memory, is N, slices, D, H, W, the bytes of one slice. No document gives the
// place of the next slice: here it follows the last spatial dimension, at its stride times its extent, as the layout's
// name has it. A box has whole slices and begins with one.
bool walk_slices(const Walk &walk) {
  const TensorMap &map = walk.map;
  const i64 unit = map.slice_bytes(), end = map.channel_bytes(), batch = map.rank() - 1;
  const i64 slice_stride = batch < 2 ? 0 : map.stride_bytes(batch - 1) * ((i64)map.last[batch - 1] + 1);
  for (i64 number = 0; number < box_bytes(map, walk.coords) / unit; ++number) {
    i64 rest = number, at = map.bytes_of(walk.coords[0]);  // its first byte among the bytes of all channels
    u64 source = map.address;
    bool inside = true;
    for (u32 i = 1; i < DIMENSIONS; ++i) {
      if (i == batch) {  // slices come before N
        at += rest % map.slices() * unit;
        rest /= map.slices();
      }
      u64 position = rest % map.box_count(i) * map.element_step(i) + walk.coords[i];
      rest /= map.box_count(i);
      inside &= position <= map.last[i];
      source += position * map.stride_bytes(i);
    }
    inside &= (u64)at < (u64)end;  // below 0 is far outside
    source += (u64)at / unit * slice_stride;
    if (!walk.visit) walk.move_row(walk.smem + number * unit, source - at, at, unit, inside);
    else if (inside && !walk.visits(source, min(end - at, unit))) return false;
  }
  return true;
}

// Walk over the rows of a box.
bool walk_rows(const Walk &walk) {
  const TensorMap &map = walk.map;
  const i64 row_bytes = map.row_bytes(), start = map.bytes_of(walk.coords[0]);
  i64 rows = 1;
  for (u32 i = 1; i < DIMENSIONS; ++i) rows *= map.box_count(i);
  for (i64 row = 0; row < rows; ++row) {
    i64 rest = row;
    u64 source = map.address;
    bool inside = true;
    for (u32 i = 1; i < DIMENSIONS; ++i) {
      u64 position = walk.coords[i] + rest % map.box_count(i) * map.element_step(i);
      rest /= map.box_count(i);
      inside &= position <= map.last[i];
      source += position * map.stride_bytes(i);
    }
    if (!walk.visit) walk.move_row(walk.smem + row * row_bytes, source, start, row_bytes, inside);
    else if (inside) {
      i64 low = max<i64>(start, 0), high = min(start + map.global_row_bytes(), map.channel_bytes());
      if (low < high && !walk.visits(source + low, high - low)) return false;
    }
  }
  return true;
}

bool walk_box(const Walk &walk) {
  if (walk.map.is_wide()) return walk_wide_pixels(walk);
  return walk.map.is_im2col() ? walk_pixels(walk) : walk.map.interleave() ? walk_slices(walk) : walk_rows(walk);
}

// The first and the last index along a dimension that the box touches and the tensor has; none if last < first.
struct Inside {
  i64 first, last;
  Inside(const TensorMap &map, u32 dimension, i64 start) {
    i64 step = map.element_step(dimension), reach = max<i64>(map.last[dimension] - start, -1);
    i64 below = (max<i64>(-start, 0) + step - 1) / step, within = reach < 0 ? -1 : reach / step;
    first = start + below * step;
    last = start + min(within, map.box_count(dimension) - 1) * step;
  }
};

// Visit one range that has all bytes that a box of rows touches.
bool visit_rows(const TensorMap &map, const i32 *coords, Visit visit, void *data) {
  u64 first = map.address, last = map.address;
  const Inside row(map, 0, coords[0]);
  if (row.last < row.first) return true;
  for (u32 i = 1; i < DIMENSIONS; ++i) {
    const Inside inside(map, i, coords[i]);
    if (inside.last < inside.first) return true;  // no element is inside
    first += inside.first * map.stride_bytes(i);
    last += inside.last * map.stride_bytes(i);
  }
  u64 low = map.bytes_of(row.first), high = map.bytes_of(row.last + 1);
  return visit(data, first + low, last + high - first - low);
}

// Whether the map is not interleaved, or as the walk over slices has it: tiles, in steps of one slice.
bool is_plain_or_tiled(const TensorMap &map) {
  return !map.interleave() || (map.rank() >= 3 && !map.is_im2col() && !(map.steps[0] & 7) && map.interleave() <= 2);
}

// The dimensions of a map that can be read in a mode; 0: it is none.
u32 rank_of(const TensorMap &map, u32 mode) {
  using namespace tensor_map;
  bool is_map = (map.flags & (15 | UNKNOWN)) == mode && map.rank() <= DIMENSIONS && map.type() <= LAST_TYPE &&
                map.swizzle() <= LAST_SWIZZLE && (map.swizzle() == LAST_SWIZZLE || !map.atom()) && !(map.address & 15);
  return is_map ? map.rank() : 0;
}

}  // namespace

u32 box_bytes(const TensorMap &map, const i32 *coords) {
  if (map.is_wide()) {
    u32 halo = coords[DIMENSIONS];
    return map.row_bytes() * (map.pixels() + map.pixels() / map.group_pixels() * halo);
  }
  if (map.is_im2col()) return map.row_bytes() * map.pixels();
  i64 total = map.slices() * (map.interleave() ? map.slice_bytes() : map.row_bytes());
  for (u32 i = 1; i < DIMENSIONS; ++i) total *= map.box_count(i);
  return total;
}

u32 box_transaction_bytes(const TensorMap &map, u32 size) { return size / CHUNK_BYTES * map.chunk_bytes(); }

u32 box_room(const TensorMap &map, u32 size, u32 count) {
  u32 less = map.swizzle_span() - 1;
  return (count * size + less) & ~less;
}

void box_copy(const TensorMap &map, u64 smem, const i32 *coords, bool loads, u32 reduction) {
  walk_box({map, coords, nullptr, nullptr, smem, loads, reduction});
}

bool visit_box(const TensorMap &map, const i32 *coords, Visit visit, void *data) {
  return walk_box({map, coords, visit, data});
}

bool check_map(Context *ctx, u64 address, u32 rank, u32 site, u32 tid) {
  using namespace tensor_map;
  if (!emu_range(ctx, address, BYTES, 1, GENERIC, site, tid)) return false;
  if (address & (ALIGNMENT_BYTES - 1)) return illegal(ctx, tid, site, MAP_MISALIGNED, address);
  if (address - (u64)ctx->smem < ctx->smem_bytes) return illegal(ctx, tid, site, MAP_PLACE, 1);
  if (address - (u64)ctx->local < ctx->local_bytes * ctx->threads) return illegal(ctx, tid, site, MAP_PLACE, 0);
  const TensorMap &map = *(const TensorMap *)address;
  u32 found = rank_of(map, rank & WIDE_128 ? IM2COL_W128 : rank & WIDE ? IM2COL_W : rank & PIXELS ? IM2COL : TILED);
  if (found != (rank & RANK)) return illegal(ctx, tid, site, BAD_MAP, found);
  return is_plain_or_tiled(map) || illegal(ctx, tid, site, BAD_INTERLEAVE);
}

bool check_start(Context *ctx, const TensorMap &map, const i32 *coords, u32 site, u32 tid) {
  i64 start = coords[0] * map.element_bits(), unit = map.unit_bytes();
  return !(start % (8 * unit)) || illegal(ctx, tid, site, BAD_START, start >> 3, unit);
}

bool check_halo(Context *ctx, const TensorMap &map, const i32 *coords, u32 site, u32 tid) {
  using namespace tensor_map;
  if (!map.is_wide()) return true;
  const u32 halo = coords[DIMENSIONS], offset = coords[DIMENSIONS + 1];
  const u32 most = map.mode() == IM2COL_W128 ? MOST_HALO_128 : MOST_HALO;
  if (halo >= most) return illegal(ctx, tid, site, BAD_HALO, halo, most);
  if (offset >= MOST_OFFSET) return illegal(ctx, tid, site, BAD_OFFSET, offset, MOST_OFFSET);
  if (WidePixel(map, coords).is_past_row()) return illegal(ctx, tid, site, PAST_ROW, coords[1]);
  // Past the last pixel of a row the halo may go on in the row or, as the walk does, in the next image.
  WidePixel last(map, coords);
  const bool is_defined = for_wide_pixels(map, coords, [&](const WidePixel &pixel, bool is_halo) {
    if (!is_halo) return last.w = pixel.w, last.image = pixel.image, true;
    last.step_in_row();
    bool agree = last.w == pixel.w && last.image == pixel.image;
    return agree || !(Place(last, coords).inside || Place(pixel, coords).inside);
  });
  return is_defined || illegal(ctx, tid, site, HALO_ENDS);
}

bool check_range(Context *ctx, const TensorMap &map, const i32 *coords, u32 site, u32 tid) {
  struct Where {
    Context *ctx;
    u32 site, tid;
  } where{ctx, site, tid};
  Visit visit = [](void *data, u64 address, u64 size) {
    const Where &in = *(const Where *)data;
    return emu_range(in.ctx, address, size, 1, GLOBAL, in.site, in.tid);
  };
  bool has_rows = !map.is_im2col() && !map.interleave();
  return (has_rows ? visit_rows : visit_box)(map, coords, visit, &where);
}

extern "C" u32 emu_box_bytes(u64 map, u32 halo) {
  i32 coords[DIMENSIONS + 1] = {};
  coords[DIMENSIONS] = (i32)halo;
  return box_bytes(*(const TensorMap *)map, coords);
}
