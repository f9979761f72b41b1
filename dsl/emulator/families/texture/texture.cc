// Reads of textures, reads and writes of surfaces.
//
// PTX ISA: tex, tld4, suld, sust. CUDA C++ Programming Guide, "Texture Fetching": which texels a coordinate selects,
// and the weights of a linear filter, which have 8 bits of fraction. Mipmaps are refused, so the level does not matter.
#include "check/check.h"

namespace {

using namespace texture;

enum : u32 { WRAP, CLAMPED, MIRROR, BORDER };                              // CUaddress_mode
enum : u32 { U8 = 1, U16, U32, S8 = 8, S16, S32, HALF = 16, FLOAT = 32 };  // CUarray_format

u32 bytes_of(u32 format) {
  if (format == U8 || format == S8) return 1;
  return format == U16 || format == S16 || format == HALF ? 2 : 4;
}

struct Texel {
  union {
    float numbers[4];
    u32 words[4];
  };
};

bool gives_floats(const Texture &of) { return of.format >= HALF || (!of.reads_integers && bytes_of(of.format) < 4); }

// One component as the texture gives it: an integer, or a float's bits.
u32 component(const Texture &of, const u8 *at) {
  u16 half;
  __builtin_memcpy(&half, at, bytes_of(of.format) < 2 ? 1 : 2);
  float number = 0;
  i32 whole = 0;
  switch (of.format) {
    case U8: whole = *at, number = (float)*at / 255; break;
    case S8: whole = (*at ^ 0x80) - 0x80, number = (float)whole / 127; break;
    case U16: whole = half, number = (float)half / 65535; break;
    case S16: whole = (half ^ 0x8000) - 0x8000, number = (float)whole / 32767; break;
    case HALF: {
      _Float16 value;
      __builtin_memcpy(&value, at, 2);
      number = (float)value;
      break;
    }
    default: __builtin_memcpy(&whole, at, 4); return (u32)whole;
  }
  if (!gives_floats(of)) return (u32)whole;
  if (number < -1 && of.format != HALF) number = -1;
  u32 bits;
  __builtin_memcpy(&bits, &number, 4);
  return bits;
}

const u8 *place(const Texture &of, i64 x, i64 y, i64 z) {
  u32 size = of.channels * bytes_of(of.format);
  return (const u8 *)of.data + z * (i64)of.plane_bytes + y * (i64)of.row_bytes + x * size;
}

// The index of a texel, by the address mode of its dimension; false for the border.
bool index(i64 &at, i64 count, u32 mode) {
  if (at >= 0 && at < count) return true;
  if (mode == BORDER) return false;
  if (mode == WRAP) at -= count * (at < 0 ? -((count - 1 - at) / count) : at / count);
  else if (mode == MIRROR) {
    i64 twice = 2 * count;
    at = ((at % twice) + twice) % twice;
    if (at >= count) at = twice - 1 - at;
  } else at = at < 0 ? 0 : count - 1;
  return true;
}

struct Lookup {
  const Texture &of;
  u32 dimensions;
  u32 modes[3];
  i64 layer;  // -1: the third coordinate is one of the texture

  Texel texel(i64 x, i64 y, i64 z) const {
    i64 at[3] = {x, y, z};
    i64 counts[3] = {of.width, of.height, of.depth};
    bool is_inside = true;
    for (u32 i = 0; i < dimensions; ++i) is_inside &= index(at[i], counts[i], modes[i]);
    Texel found;
    if (!is_inside) {
      for (u32 i = 0; i < 4; ++i) found.words[i] = of.border[i];
      return found;
    }
    const u8 *from = place(of, at[0], dimensions > 1 ? at[1] : 0, layer >= 0 ? layer : dimensions > 2 ? at[2] : 0);
    u32 one = 1;
    float full = 1;
    if (gives_floats(of)) __builtin_memcpy(&one, &full, 4);
    for (u32 i = 0; i < 4; ++i)
      found.words[i] = i < of.channels ? component(of, from + i * bytes_of(of.format)) : i == 3 ? one : 0;
    return found;
  }
};

float whole_below(float x) { return __builtin_floorf(x); }

// The coordinate in texels, before the address mode.
float scaled(const Texture &of, float x, u32 count, u32 mode) {
  if (!of.is_normalized) return x;
  if (mode == WRAP) x -= whole_below(x);
  if (mode == MIRROR) {
    float below = whole_below(x);
    x = (i64)below & 1 ? 1 - (x - below) : x - below;
  }
  return x * (float)count;
}

i64 to_index(float x) { return x != x ? 0 : x < -2e9f ? (i64)-2e9 : x > 2e9f ? (i64)2e9 : (i64)x; }

// The weight of the next texel, which has 8 bits of fraction.
float weight(float fraction) { return __builtin_rintf(fraction * 256) / 256; }

Texel filtered(const Lookup &lookup, const float *at) {
  float low[3] = {}, weights[3] = {};
  for (u32 i = 0; i < lookup.dimensions; ++i) {
    low[i] = whole_below(at[i] - 0.5f);
    weights[i] = weight(at[i] - 0.5f - low[i]);
  }
  Texel sum = {};
  for (u32 corner = 0; corner < 1u << lookup.dimensions; ++corner) {
    float share = 1;
    i64 where[3] = {};
    for (u32 i = 0; i < lookup.dimensions; ++i) {
      bool is_next = corner >> i & 1;
      share *= is_next ? weights[i] : 1 - weights[i];
      where[i] = to_index(low[i]) + is_next;
    }
    Texel one = lookup.texel(where[0], where[1], where[2]);
    for (u32 i = 0; i < 4; ++i) sum.numbers[i] += share * one.numbers[i];
  }
  return sum;
}

// The four texels around a point, one component of each: from the lower left one against the clock.
Texel gathered(const Lookup &lookup, const float *at, u32 which) {
  constexpr u32 RIGHT[] = {0, 1, 1, 0}, BELOW[] = {1, 1, 0, 0};
  i64 x = to_index(whole_below(at[0] - 0.5f)), y = to_index(whole_below(at[1] - 0.5f));
  Texel found;
  for (u32 i = 0; i < 4; ++i) found.words[i] = lookup.texel(x + RIGHT[i], y + BELOW[i], 0).words[which];
  return found;
}

// The face of a cube that a direction meets, and where: CUDA C++ Programming Guide, "Cubemap Textures".
u32 face_of(const float *direction, float *at) {
  float x = direction[0], y = direction[1], z = direction[2];
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z), m, s, t;
  u32 face;
  if (ax >= ay && ax >= az) face = x < 0, m = ax, s = x < 0 ? z : -z, t = -y;
  else if (ay >= az) face = 2 + (y < 0), m = ay, s = x, t = y < 0 ? -z : z;
  else face = 4 + (z < 0), m = az, s = z < 0 ? -x : x, t = -y;
  at[0] = (s / m + 1) / 2, at[1] = (t / m + 1) / 2, at[2] = 0;
  return face;
}

i64 clamped(i64 layer, i64 count) { return layer < 0 ? 0 : layer >= count ? count - 1 : layer; }

const Texture *texture_of(Context *ctx, u64 handle, u32 site, u32 thread) {
  if (!emu_range(ctx, handle, sizeof(Texture), 8, GENERIC, site, thread)) return nullptr;
  const Texture *found = (const Texture *)handle;
  if (found->magic == MAGIC) return found;
  emu_fault(ctx, ILLEGAL, site, thread, handle, 0, BAD_TEXTURE);
  return nullptr;
}

}  // namespace

// Read a texture at the coordinates of an instruction, which has the layer first; 0 after a fault.
extern "C" u32 emu_texture(Context *ctx, u64 handle, u32 how, const u32 *given, u32 *out, u32 site, u32 thread) {
  const Texture *of = texture_of(ctx, handle, site, thread);
  if (!of) return 0;
  Lookup lookup = {*of, how & DIMENSIONS, {of->address_modes[0], of->address_modes[1], of->address_modes[2]}, -1};
  if (!of->is_normalized)
    for (u32 &mode : lookup.modes) mode = mode == BORDER ? BORDER : CLAMPED;
  if (how & LAYERS) lookup.layer = clamped((i32)*given++, how & CUBE ? of->depth / 6 : of->depth);
  Texel found;
  if (how & INTEGERS) {
    i64 at[3];
    for (u32 i = 0; i < 3; ++i) at[i] = i < lookup.dimensions ? (i32)given[i] : 0;
    bool is_outside = of->is_linear && (at[0] < 0 || at[0] >= of->width);
    if (is_outside) found = {};
    else found = lookup.texel(at[0], at[1], at[2]);
  } else {
    float at[3];
    __builtin_memcpy(at, given, 12);
    if (how & CUBE) {
      float direction[3] = {at[0], at[1], at[2]};
      u32 face = face_of(direction, at);
      lookup.layer = face + 6 * (lookup.layer < 0 ? 0 : lookup.layer);
      lookup.modes[0] = lookup.modes[1] = CLAMPED;
      at[0] *= (float)of->width, at[1] *= (float)of->height;
    } else {
      const u32 counts[] = {of->width, of->height, of->depth};
      for (u32 i = 0; i < lookup.dimensions; ++i) at[i] = scaled(*of, at[i], counts[i], lookup.modes[i]);
    }
    if (how & GATHER) found = gathered(lookup, at, how >> COMPONENT_SHIFT & 3);
    else if (of->filters_linearly) found = filtered(lookup, at);
    else found = lookup.texel(to_index(whole_below(at[0])), to_index(whole_below(at[1])), to_index(whole_below(at[2])));
  }
  __builtin_memcpy(out, found.words, 16);
  return 1;
}

// Read or write bytes of a surface; the first coordinate is in bytes. 0 after a fault.
extern "C" u32 emu_surface(Context *ctx, u64 handle, u32 how, const u32 *given, u8 *data, u32 site, u32 thread) {
  const Texture *of = texture_of(ctx, handle, site, thread);
  if (!of) return 0;
  u32 size = 1u << (how >> LOG2_BYTES_SHIFT & 7), outside = how >> OUTSIDE_SHIFT & 3, dimensions = how & DIMENSIONS;
  i64 texel = of->channels * bytes_of(of->format), layer = how & LAYERS ? (i32)*given++ : 0;
  i64 at[3] = {(i32)given[0], dimensions > 1 ? (i32)given[1] : 0,
               how & LAYERS     ? layer
               : dimensions > 2 ? (i32)given[2]
                                : 0};
  i64 last[3] = {of->width * texel - size, (i64)of->height - 1, (i64)of->depth - 1};
  bool is_inside = true;
  for (u32 i = 0; i < 3; ++i) is_inside &= at[i] >= 0 && at[i] <= last[i];
  if (is_inside && at[0] % size) {
    emu_fault(ctx, MISALIGNED, site, thread, (u64)at[0], size, 0);
    return 0;
  }
  if (!is_inside && outside == TRAPS) {
    emu_fault(ctx, ILLEGAL, site, thread, (u64)at[0], size, OUTSIDE_SURFACE);
    return 0;
  }
  if (!is_inside && outside == ZEROS) {
    if (!(how & STORES)) __builtin_memset(data, 0, size);
    return 1;
  }
  for (u32 i = 0; i < 3; ++i) at[i] = at[i] < 0 ? 0 : at[i] > last[i] ? last[i] : at[i];
  u8 *target = (u8 *)of->data + at[2] * (i64)of->plane_bytes + at[1] * (i64)of->row_bytes + at[0] / size * size;
  if (how & STORES) __builtin_memcpy(target, data, size);
  else __builtin_memcpy(data, target, size);
  return 1;
}
