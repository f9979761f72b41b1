// wgmma.mma_async: what the 128 threads of a warpgroup compute together. PTX ISA 9.7.15.5.
//
// The thread that completes the meeting makes dense planes of A, B and D once; eight columns of D are one vector.
// If all exponents of a sum are moderate, its products are exact as floats, and so is each of them once it is scaled to
// a whole number: then no double is needed. Any other sum is made as `mma` makes it, in doubles.
#include "tensor_core/tensor_core.h"

namespace {

using namespace wgmma;

constexpr u32 THREADS = 128, M = 64, ROW_BYTES = 32, CHUNK_BYTES = 16, MOST_N = 256, MOST_K = 32;

WgmmaArea *area_of(Context *ctx, u32 thread) { return (WgmmaArea *)ctx->a[thread]; }

// --- operands as planes

constexpr u32 length(u32 kind) { return kind <= BF16 ? 16 : kind == TF32 || kind == B1 ? 8 : 32; }  // of ROW_BYTES

// 32 bytes as floats, their signs changed by `sign`; bits of b1 as words.
template <u32 kind> void spread_row(const u8 *raw, float *out, u32 sign) {
  if constexpr (kind == B1) __builtin_memcpy(out, raw, ROW_BYTES);
  else {
    constexpr int k = length(kind);
    auto values = to<Vector<float, k>>(widened<Kind(kind), k>(raw));
    store(out, as<Vector<u32, k>>(values) ^ sign);
  }
}

// The plane of `rows` rows of 32 bytes: element (row, k) at row * row_step + k * k_step.
template <u32 kind>
void spread(const u8 *raw, u32 rows, u32 sign, float *out, u32 row_step, u32 k_step) {
  alignas(64) float one[MOST_K];
  for (u32 row = 0; row < rows; ++row, raw += ROW_BYTES, out += row_step) {
    if (k_step == 1) spread_row<kind>(raw, out, sign);
    else {
      spread_row<kind>(raw, one, sign);
      UNROLLED
      for (u32 k = 0; k < length(kind); ++k) out[k_step * k] = one[k];
    }
  }
}
constexpr decltype(&spread<F16>) SPREAD[] = {spread<F16>,  spread<BF16>, spread<TF32>, spread<E4M3>,
                                             spread<E5M2>, spread<S8>,   spread<U8>,   spread<B1>};

// The exponents of floats of an operand kind; whether one is an infinity or a NaN.
bool spread_exponents(const float *values, u32 count, u32 kind, i32 *out) {
  const i32 least = least_exponent(Kind(kind));
  Ints most = LEAST_EXPONENT;
  for (u32 i = 0; i < count; i += LANES) {
    Ints each = exponents(load<Floats>(values + i), least);
    store(out + i, each);
    most = larger(most, each);
  }
  return __builtin_reduce_max(most) > 127;
}

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
    if (!transposed) {
      u32 step = desc.plain ? desc.leading : CHUNK_BYTES;
      for (u32 row = 0; row < rows; ++row)
        for (u32 half = 0; half < 2; ++half) {
          u32 eight = (row >> 3) * desc.stride + (row & 7) * desc.pitch;
          const u8 *source = chunk(desc.swizzled(desc.start + eight + half * step));
          if (!source) return false;
          __builtin_memcpy(out + row * ROW_BYTES + half * CHUNK_BYTES, source, CHUNK_BYTES);
        }
      return true;
    }
    u32 between_chunks = desc.plain ? desc.stride : desc.leading, between_ks = desc.plain ? desc.leading : desc.stride;
    for (u32 eight = 0; eight < rows / 8; ++eight)
      for (u32 k = 0; k < ROW_BYTES / 2; ++k) {
        u32 across = ((eight & desc.mask) << 4) + (eight >> desc.width_log2) * between_chunks;
        u32 down = (k & 7) * desc.pitch + (k >> 3) * between_ks;
        const u8 *source = chunk(desc.swizzled(desc.start + across + down));
        if (!source) return false;
        UNROLLED
        for (u32 i = 0; i < 8; ++i) __builtin_memcpy(out + (8 * eight + i) * ROW_BYTES + 2 * k, source + 2 * i, 2);
      }
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

// --- sums

// Greatest exponents of the terms of a sum that floats are enough for: 2 ** (25 + 90) and products of 2 ** 102 are
// floats, and a product below the least float vanishes in the alignment.
constexpr int LEAST = -90, MOST = 100;

struct Planes {
  float *a;  // (64, K)
  i32 *exponents_a;
  float *b;  // (K, n)
  i32 *exponents_b;
  float *d;  // (64, n)
  u32 n;
  bool special;  // whether an operand is an infinity or a NaN
};

// The products of eight elements of a row of D.
struct Products {
  const float *a;
  const i32 *exponents_a;
  const float *b;
  const i32 *exponents_b;
  u32 n;
  Floats of_b(int k) const { return load<Floats>(b + n * k); }
  Doubles product(int k) const { return (double)a[k] * to<Doubles>(of_b(k)); }
  Floats float_product(int k) const { return a[k] * of_b(k); }
  Ints exponent(int k) const { return exponents_a[k] + load<Ints>(exponents_b + n * k); }
};

// In doubles; a NaN is the canonical one.
template <Sum S> [[gnu::noinline]] void double_sum(const Products &of, float *d, bool special) {
  Floats start = load<Floats>(d), total = special ? any_sum<S>(of, start) : finite_sum<S>(of, start);
  store(d, choose(total != total, as<Floats>(Ints(NAN_BITS)), total));
}

template <Sum S> [[gnu::always_inline]] inline Floats float_sum(const Products &of, Floats start, Ints greatest) {
  greatest = larger(greatest, LEAST);
  Floats scale = float_power(S.fraction_bits - greatest);
  Ints total = 0;
  UNROLLED
  for (int k = 0; k < S.terms; ++k) total += to<Ints>(of.float_product(k) * scale);
  Doubles whole = to<Doubles>(total) + to<Doubles>(to<Ints>(start * scale));
  Floats back = float_power(greatest - S.fraction_bits);
  if (S.result == Result::F16) return to_half(whole * to<Doubles>(back));
  Ints kept = toward_zero(whole).bits;
  return as<Floats>(S.result == Result::E8M13 ? kept & -1024 : kept) * back;
}

// The lanes in which a term of the sum is not zero.
template <Sum S> [[gnu::noinline]] Ints some_term(const Products &of, Floats start) {
  Ints flags = start < 0 | start > 0;
  UNROLLED
  for (int k = 0; k < S.terms; ++k) {
    Floats b = of.of_b(k);
    if (of.a[k] < 0 || of.a[k] > 0) flags |= b < 0 | b > 0;
  }
  return flags;
}

// All of D, columns by eight and row by row.
template <Sum S> [[gnu::noinline]] void sums(Planes p) {
  for (u32 column = 0; column < p.n; column += LANES)
    for (u32 row = 0; row < M; ++row) {
      float *d = p.d + row * p.n + column;
      const u32 at_a = row * S.terms;
      const Products of{p.a + at_a, p.exponents_a + at_a, p.b + column, p.exponents_b + column, p.n};
      Floats start = load<Floats>(d);
      Ints greatest = exponents(start, S.least());
      UNROLLED
      for (int k = 0; k < S.terms; ++k) greatest = larger(greatest, of.exponent(k));
      Ints outside = greatest<LEAST | greatest> MOST;
      if (p.special || (any(outside) && any(outside & some_term<S>(of, start)))) double_sum<S>(of, d, p.special);
      else store(d, float_sum<S>(of, start, greatest));
    }
}

// d += the sums of `add(a, b, total)` over k, by eight columns; saturating instead of wrapping.
template <int K, class Total, class Add> void integer_sums(const Planes &p, bool saturates, Add add) {
  for (u32 column = 0; column < p.n; column += LANES)
    for (u32 row = 0; row < M; ++row) {
      Total total = 0;
      UNROLLED
      for (int k = 0; k < K; ++k) total = add(Floats(p.a[row * K + k]), load<Floats>(p.b + p.n * k + column), total);
      float *place = p.d + row * p.n + column;
      Ints start = load<Ints>(place), sum = to<Ints>(total);
      store(place, saturates ? __builtin_elementwise_add_sat(start, sum) : start + sum);
    }
}

void multiply(u32 kind, bool half, bool saturates, const Planes &p) {
  switch (kind) {
    case S8:
    case U8:  // products and 32 of them together are exact as floats
      return integer_sums<32, Floats>(
          p, saturates, [](Floats a, Floats b, Floats total) { return __builtin_elementwise_fma(a, b, total); });
    case B1:  // the bits that both have, counted
      return integer_sums<8, Ints>(p, saturates, [](Floats a, Floats b, Ints total) {
        return total + __builtin_elementwise_popcount(as<Ints>(a) & as<Ints>(b));
      });
    case F16: return half ? sums<Sum{16, 25, Result::F16}>(p) : sums<Sum{16, 25, Result::F32}>(p);
    case BF16: return sums<Sum{16, 25, Result::F32}>(p);
    case TF32: return sums<Sum{8, 25, Result::F32}>(p);
    case E4M3:
    case E5M2: return half ? sums<Sum{32, 13, Result::F16}>(p) : sums<Sum{32, 13, Result::E8M13}>(p);
  }
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
  u32 form = area->form, n = (form & 63) * 8, a_kind = form >> A_SHIFT & 15, b_kind = form >> B_SHIFT & 15;
  u32 k = length(a_kind);
  bool half = (form >> D_SHIFT & 3) == D_F16, in_registers = form & IN_REGISTERS;

  alignas(64) u8 raw_a[M * ROW_BYTES], raw_b[MOST_N * ROW_BYTES];
  alignas(64) float a[M * MOST_K], b[MOST_N * MOST_K], d[M * MOST_N];
  alignas(64) i32 exponents_a[M * MOST_K], exponents_b[MOST_N * MOST_K];
  const Reader reader{ctx, base, site};
  if (in_registers) take_a(ctx, base, raw_a);
  else if (!reader.operand(area->a_desc, M, form & TRANSPOSED_A, raw_a)) return;
  if (!reader.operand(area->b_desc, n, form & TRANSPOSED_B, raw_b)) return;
  SPREAD[a_kind](raw_a, M, form & NEGATED_A ? 1u << 31 : 0, a, k, 1);
  SPREAD[b_kind](raw_b, n, form & NEGATED_B ? 1u << 31 : 0, b, 1, n);
  if (area->scale_d) take_d(ctx, base, n, d, half);
  else __builtin_memset(d, 0, 4 * M * n);

  Planes planes{a, exponents_a, b, exponents_b, d, n, false};
  if (a_kind < S8) {
    planes.special = spread_exponents(a, M * k, a_kind, exponents_a);
    planes.special |= spread_exponents(b, n * k, b_kind, exponents_b);
  }
  multiply(a_kind, half, form & SATURATES, planes);
  give_d(ctx, base, n, d, half);
}
