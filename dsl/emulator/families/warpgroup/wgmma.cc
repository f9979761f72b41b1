// wgmma.mma_async: what the 128 threads of a warpgroup compute together. PTX ISA 9.7.15.5.
//
// The thread that completes the meeting collects the rows of A and B and a plane of D; planes.cc multiplies.
#include "check/places_of_k.h"
#include "tensor_core/planes.h"

namespace {

using namespace wgmma;

constexpr u32 THREADS = 128, M = 64, CHUNK_BYTES = 16, MOST_N = 256;

WgmmaArea *area_of(Context *ctx, u32 thread) { return (WgmmaArea *)ctx->a[thread]; }

// --- operands in shared memory: PTX ISA 9.7.15.5.1, Shared Memory Matrix Layout
//
// A descriptor has, in units of 16 bytes, the start address (bits 0-13), the leading (16-29) and the stride byte offset
// (32-45); the base offset (49-51); the swizzle (62-63: none, 128, 64, 32 bytes). Memory is read in chunks of 16 bytes.
// Where K runs fastest, row r of 32 bytes is two chunks; eight rows follow one another, W chunks apart, the next
// eight a stride offset further. Where M or N runs fastest (16-bit types), a chunk is eight rows at one k. W is how
// many chunks the swizzle mixes: chunk c of line l (128 bytes each) of its pattern is at c xor l.
struct Descriptor {
  u64 bits;
  u32 start = offset(0), leading = offset(16), stride = offset(32);
  u32 mode = field(62, 3);
  bool plain = mode == 0;
  u32 width_log2 = (4 - mode) & 3, mask = (1u << width_log2) - 1;  // of the chunks that are mixed
  u32 pitch = CHUNK_BYTES << width_log2;                           // from a row to the next
  u32 base = plain ? 0 : field(49, 7);

  u32 field(u32 bit, u32 mask) const { return bits >> bit & mask; }
  u32 offset(u32 bit) const { return field(bit, 0x3FFF) << 4; }
  // An address with its chunk mixed; the pattern's phase is counted from the base offset.
  u32 swizzled(u32 address) const { return address ^ (((address >> 7) - base) & mask) << 4; }
};

struct Reader {
  Context *ctx;
  u32 tid, site;

  // 16 bytes at an offset in shared memory, told to the race checker; null after a fault.
  const u8 *chunk(u32 offset) const {
    if ((u64)offset + CHUNK_BYTES > ctx->smem_bytes) {
      emu_fault(ctx, OUT_OF_BOUNDS, site, tid, offset, CHUNK_BYTES, SHARED);
      return nullptr;
    }
    u8 *place = ctx->smem + offset;
    if (ctx->matrix_read && !ctx->matrix_read(ctx, tid, site, (u64)place)) return nullptr;
    return place;
  }

  // Copy rows of 32 bytes; `transposed` where M or N runs fastest. False after a fault.
  bool operand(u64 bits, u32 rows, bool transposed, u8 *out) const {
    const Descriptor desc{bits};
    PlacesOfK places;
    if (!transposed) {
      u32 step = desc.plain ? desc.leading : CHUNK_BYTES;
      for (u32 row = 0; row < rows; ++row)
        for (u32 half = 0; half < 2; ++half) {
          u32 eight = (row >> 3) * desc.stride + (row & 7) * desc.pitch;
          const u8 *source = chunk(desc.swizzled(desc.start + eight + half * step));
          if (!source) return false;
          places.read(ctx, source - ctx->smem, half * CHUNK_BYTES);
          __builtin_memcpy(out + row * ROW_BYTES + half * CHUNK_BYTES, source, CHUNK_BYTES);
        }
      places.tell(ctx, tid, site);
      return true;
    }
    u32 between_chunks = desc.plain ? desc.stride : desc.leading, between_ks = desc.plain ? desc.leading : desc.stride;
    for (u32 eight = 0; eight < rows / 8; ++eight)
      for (u32 k = 0; k < ROW_BYTES / 2; ++k) {
        u32 across = ((eight & desc.mask) << 4) + (eight >> desc.width_log2) * between_chunks;
        u32 down = (k & 7) * desc.pitch + (k >> 3) * between_ks;
        const u8 *source = chunk(desc.swizzled(desc.start + across + down));
        if (!source) return false;
        places.read(ctx, source - ctx->smem, 2 * k);
        UNROLLED
        for (u32 i = 0; i < 8; ++i) __builtin_memcpy(out + (8 * eight + i) * ROW_BYTES + 2 * k, source + 2 * i, 2);
      }
    places.tell(ctx, tid, site);
    return true;
  }
};

// --- registers

// Row and thread of the group of a thread's first elements of A and D.
struct Position {
  u32 row, place;
  explicit Position(u32 thread) : row(thread / 32 * 16 + thread % 32 / 4), place(thread % 4) {}
};

// A from registers: rows of 32 bytes. Register r has 4 bytes of row + 8 (r % 2), 16 (r / 2) bytes along.
void take_a(Context *ctx, u32 base, u8 *out) {
  for (u32 thread = 0; thread < THREADS; ++thread) {
    Position at(thread);
    const WgmmaArea *area = area_of(ctx, base + thread);
    UNROLLED
    for (u32 r = 0; r < 4; ++r)
      store(out + (at.row + 8 * (r % 2)) * ROW_BYTES + 4 * at.place + 16 * (r / 2), area->a[r]);
  }
}

// `move(word, place)` for each two neighbours of D: where a thread has them, and their place in the plane.
template <class Move> void each_pair(Context *ctx, u32 base, u32 n, float *plane, bool halves, Move move) {
  for (u32 thread = 0; thread < THREADS; ++thread) {
    Position at(thread);
    u32 *word = area_of(ctx, base + thread)->d;
    for (u32 column = 2 * at.place; column < n; column += 8)
      for (u32 lower = 0; lower < 2; ++lower, word += halves ? 1 : 2)
        move(word, plane + (at.row + 8 * lower) * n + column);
  }
}

// D from the threads' registers to a plane.
void take_d(Context *ctx, u32 base, u32 n, float *plane, bool halves) {
  if (halves)
    each_pair(ctx, base, n, plane, true, [](u32 *word, float *place) { store(place, widened<Kind::f16, 2>(word)); });
  else each_pair(ctx, base, n, plane, false, [](u32 *word, float *place) { store(place, load<Two>(word)); });
}

// D from a plane to the threads' registers; a NaN of f16 is the canonical one.
void give_d(Context *ctx, u32 base, u32 n, float *plane, bool halves) {
  if (halves)
    each_pair(ctx, base, n, plane, true, [](u32 *word, float *place) { *word = half_bits(load<Two>(place)); });
  else each_pair(ctx, base, n, plane, false, [](u32 *word, float *place) { store(word, load<Two>(place)); });
}

// Whether all threads name the same matrices and the same scale-d; a fault of the first that does not.
bool is_uniform(Context *ctx, u32 base, u32 site) {
  const WgmmaArea *first = area_of(ctx, base);
  for (u32 tid = base; tid < base + THREADS; ++tid) {
    const WgmmaArea *area = area_of(ctx, tid);
    auto differs = [=](size_t at) { return illegal(ctx, tid, site, NOT_UNIFORM, at / 4); };
    if (area->a_desc != first->a_desc) return differs(offsetof(WgmmaArea, a_desc));
    if (area->b_desc != first->b_desc) return differs(offsetof(WgmmaArea, b_desc));
    if (area->scale_d != first->scale_d) return differs(offsetof(WgmmaArea, scale_d));
  }
  return true;
}

}  // namespace

// One wgmma.mma_async of the warpgroup whose first thread is `base`.
extern "C" void emu_wgmma(Context *ctx, u32 base) {
  const WgmmaArea *area = area_of(ctx, base);
  u32 site = ctx->wait_site[base];
  if (!is_uniform(ctx, base, site)) return;
  if (ctx->matrix_read) ctx->matrix_group = ctx->order_call((u64)ctx, ORDER_WGMMA, base, area->group, site);
  u32 form = area->form, n = (form & 63) * 8;
  Kind a_kind = Kind(form >> A_SHIFT & 15), b_kind = Kind(form >> B_SHIFT & 15);
  bool half = (form >> D_SHIFT & 3) == D_F16, is_fp8 = a_kind == Kind::e4m3 || a_kind == Kind::e5m2;

  alignas(64) u8 raw_a[M * ROW_BYTES], raw_b[MOST_N * ROW_BYTES];
  alignas(64) float d[M * MOST_N];
  const Reader reader{ctx, base, site};
  if (form & IN_REGISTERS) take_a(ctx, base, raw_a);
  else if (!reader.operand(area->a_desc, M, form & TRANSPOSED_A, raw_a)) return;
  if (!reader.operand(area->b_desc, n, form & TRANSPOSED_B, raw_b)) return;
  if (area->scale_d) take_d(ctx, base, n, d, half);
  else __builtin_memset(d, 0, 4 * M * n);
  const Operand a{raw_a, M, a_kind, bool(form & NEGATED_A)}, b{raw_b, n, b_kind, bool(form & NEGATED_B)};
  emu_multiply(a, b, {d, n}, {is_fp8 ? 13u : 25u, half, bool(form & SATURATES)});
  give_d(ctx, base, n, d, half);
}
