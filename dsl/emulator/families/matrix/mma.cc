// Instructions that the lanes of a warp compute together: mma, mma.sp, ldmatrix, stmatrix, movmatrix. PTX ISA 9.7.14.
//
// Each lane has an exchange area: the function that computes, then words in and out. The lane that completes the
// meeting calls it. Floats are summed as tensor_core.h defines, doubles by fma in the order of k. NaN results are
// canonical. Which element of a matrix a register holds: fragments.py.
#include "check/check.h"
#include "families/matrix/metadata.h"

namespace {

constexpr u32 WARP = 32;

u32 *words_of(Context *ctx, u32 thread) { return ((MatrixArea *)ctx->a[thread])->words; }

// --- mma

using Kind::b1, Kind::s4, Kind::u4;
using Kind::f16, Kind::bf16, Kind::tf32, Kind::e4m3, Kind::e5m2, Kind::s8, Kind::f64, Kind::f32, Kind::s32;
constexpr bool is_fp8(Kind kind) { return kind == e4m3 || kind == e5m2; }
constexpr bool is_fourth(Kind kind) { return kind == s4 || kind == u4; }
constexpr int bits(Kind kind) {
  if (kind == f64) return 64;
  if (kind == tf32 || kind == f32 || kind == s32 || kind == b1) return 32;  // 32 of b1 are an element here
  return kind == f16 || kind == bf16 ? 16 : is_fourth(kind) ? 4 : 8;
}

constexpr int pack(Kind kind) { return max(32 / bits(kind), 1); }   // elements of A or B in a register
constexpr int words(Kind kind) { return max(bits(kind) / 32, 1); }  // of a register

// What a form does besides: .satfinite of s32; .and instead of .xor of b1; A is sparse.
enum class Extra { none, satfinite, bit_and, sparse, sparse_satfinite };

// One form of mma.sync: D (M, N) = A (M, K) * B (K, N) + C.
struct Form {
  int m, n, k;
  Kind a, b, c;
  Extra extra = Extra::none;
  constexpr bool saturates() const { return extra == Extra::satfinite || extra == Extra::sparse_satfinite; }
  constexpr bool is_sparse() const { return extra == Extra::sparse || extra == Extra::sparse_satfinite; }
  constexpr int terms() const { return is_sparse() ? k / 2 : k; }  // elements of a row of A that there are
  constexpr int words_c() const { return m * n / 32 * (c == f64 ? 2 : 1) / (c == f16 ? 2 : 1); }
  constexpr int registers_a() const { return m * terms() / 32 / pack(a); }
  constexpr int registers_b() const { return k * n / 32 / pack(b); }
  // Whether tensor_core.h makes its sums: doubles are chains of fma, integers exact.
  constexpr bool is_modelled() const { return c == f32 || c == f16; }
  constexpr Form wrapping() const {  // not saturating
    return {m, n, k, a, b, c, saturates() ? is_sparse() ? Extra::sparse : Extra::none : extra};
  }
  // The form whose code makes the sums of this one, once its elements are widened.
  constexpr Form summed() const {
    Kind kind = a == bf16 ? f16 : is_fp8(a) ? e4m3 : c == s32 && a != b1 ? s8 : a;
    return Form{m, n, k, kind, kind, c, extra}.wrapping();
  }
};

// The numbers of one architecture's tensor cores.
struct Core {
  u32 fraction_bits;      // that aligned terms keep
  bool splits;            // the widest shapes are two sums, one for each half of K
  u32 fp8_fraction_bits;  // the same of 8-bit floats; 0: two sums of f16, then the accumulator is added
};

// Whether the instruction is two sums of f16 and an addition of the accumulator.
constexpr bool made_of_f16(Form form, Core core) { return is_fp8(form.a) && core.fp8_fraction_bits == 0; }

template <Kind kind> struct Element { using type = float; };
template <> struct Element<f64> { using type = double; };
template <> struct Element<s8> { using type = i32; };
template <> struct Element<Kind::u8> { using type = i32; };
template <> struct Element<s4> { using type = i32; };
template <> struct Element<u4> { using type = i32; };
template <> struct Element<b1> { using type = i32; };

// A, B and D whole; of a sparse A its elements, and the column of each.
template <Form form> struct Planes {
  using T = Element<form.a>::type;
  alignas(64) T a[form.m][form.terms()];
  u8 columns[form.is_sparse() ? form.m : 1][form.terms()];
  int column(int row, int k) const { return form.is_sparse() ? columns[row][k] : k; }
  alignas(64) T b[form.k][LANES];
  alignas(64) T d[form.m][LANES];
};

// The elements of a register.
template <Kind kind, int pack> auto unpacked(const u32 *word) {
  if constexpr (kind == f64) return load<Vector<double, 1>>(word);
  else if constexpr (kind == b1) return load<Vector<i32, 1>>(word);
  else return widened<kind, pack>(word);
}

// `move(words, place)` for each two neighbours of D: where a lane has them, and their place.
template <Kind c, class T, int m, class Move> void each_pair(u32 lane, u32 *word, T (&d)[m][LANES], Move move) {
  constexpr int step = c == f16 ? 1 : 2 * words(c);
  UNROLLED
  for (int lower = 0; lower < m / 8; ++lower) move(word + lower * step, &d[lane / 4 + 8 * lower][2 * (lane % 4)]);
}

// A, B and C from the registers of the lanes.
template <Form form> [[gnu::noinline]] void take(Planes<form.summed()> &planes, Context *ctx, u32 base) {
  using T = Element<form.a>::type;
  for (u32 lane = 0; lane < WARP; ++lane) {
    u32 *word = words_of(ctx, base + lane), group = lane / 4, thread = lane % 4;
    UNROLLED
    for (int r = 0; r < form.registers_a(); ++r, word += words(form.a)) {
      u32 row = group + 8 * (r % (form.m / 8)), column = (thread + 4 * (r / (form.m / 8))) * pack(form.a);
      store(&planes.a[row][column], unpacked<form.a, pack(form.a)>(word));
    }
    UNROLLED
    for (int r = 0; r < form.registers_b(); ++r, word += words(form.b)) {
      auto values = unpacked<form.b, pack(form.b)>(word);
      UNROLLED
      for (int e = 0; e < pack(form.b); ++e) planes.b[(thread + 4 * r) * pack(form.b) + e][group] = values[e];
    }
    each_pair<form.c>(lane, word, planes.d, [](u32 *words, T *place) {
      if constexpr (form.c == f16) store(place, widened<f16, 2>(words));
      else store(place, load<Vector<T, 2>>(words));
    });
    if constexpr (form.is_sparse())
      place<bits(form.a), form.terms()>(lane, word[form.words_c()], word[form.words_c() + 1],
                                        [&](u32 row, u32 index, u32 column) { planes.columns[row][index] = column; });
  }
}

template <Kind c, class T, int m> [[gnu::noinline]] void give(T (&d)[m][LANES], Context *ctx, u32 base) {
  using Pair = Vector<T, 2>;
  for (u32 lane = 0; lane < WARP; ++lane)
    each_pair<c>(lane, words_of(ctx, base + lane), d, [](u32 *words, const T *place) {
      Pair two = load<Pair>(place);
      if constexpr (c == f16) *words = half_bits(two);
      else if constexpr (c == f32) store(words, two != two ? Vector<u32, 2>(NAN_BITS) : as<Vector<u32, 2>>(two));
      else store(words, two);
    });
}

// Besides A and D the sums need B as doubles, and all exponents.
template <Form form> struct Terms {
  const Planes<form> &of;
  Doubles wide_b[form.k];
  i32 exponents_a[form.m][form.terms()];
  Ints exponents_b[form.k];
  explicit Terms(const Planes<form> &of) : of(of) {}  // the rest is filled in
};

// The products of a row of A and of B, by k.
template <Form form> struct Row {
  const Terms<form> &terms;
  int row;
  int column(int k) const { return terms.of.column(row, k); }
  Doubles product(int k) const { return (double)terms.of.a[row][k] * terms.wide_b[column(k)]; }
  Ints exponent(int k) const { return terms.exponents_a[row][k] + terms.exponents_b[column(k)]; }
};

// The same of some k: `first` and on, or, where `pairs`, two of every four.
template <class R, int first, bool pairs> struct Part {
  const R &row;
  static constexpr int at(int k) { return pairs ? k / 2 * 4 + k % 2 + first : k + first; }
  Doubles product(int k) const { return row.product(at(k)); }
  Ints exponent(int k) const { return row.exponent(at(k)); }
};

template <Sum S, bool special, class Products> Floats sum_of(const Products &of, Floats start, bool is_first) {
  if (special) return any_sum<S>(of, start_of<S>(start));
  Floats total = finite_sum<S>(of, start_of<S>(start));
  return is_first ? total : choose(__builtin_elementwise_abs(start) == INFINITY, start, total);  // it has overflowed
}

template <Form form, Core core, bool special> void rows(Planes<form> &planes, const Terms<form> &terms) {
  constexpr bool by_f16 = made_of_f16(form, core), narrow = is_fp8(form.a) && core.fp8_fraction_bits == 13;
  constexpr int fraction_bits = is_fp8(form.a) && !by_f16 ? core.fp8_fraction_bits : core.fraction_bits;
  constexpr bool two = by_f16 || (core.splits && form.terms() * bits(form.a) == 256);
  constexpr Result result = form.c == f16 ? Result::F16 : narrow ? Result::E8M13 : Result::F32;
  constexpr Sum sum{two ? form.terms() / 2 : form.terms(), fraction_bits, result};
  for (int i = 0; i < form.m; ++i) {
    const Row<form> row{terms, i};
    Floats before = load<Floats>(planes.d[i]), total = by_f16 ? Floats(0) : before;
    if constexpr (two) {
      total = sum_of<sum, special>(Part<Row<form>, 0, by_f16>{row}, total, true);
      total = sum_of<sum, special>(Part<Row<form>, by_f16 ? 2 : form.terms() / 2, by_f16>{row}, total, false);
    } else total = sum_of<sum, special>(row, total, true);
    if (by_f16) total = form.c == f16 ? to_half(to<Doubles>(before) + to<Doubles>(total)) : before + total;
    store(planes.d[i], total);
  }
}

// The sums of floats; `least_a` and `least_b` are the least exponents of elements of A and of B.
template <Form form, Core core> [[gnu::noinline]] void accumulate(Planes<form> &planes, int least_a, int least_b) {
  Terms<form> terms{planes};
  Ints greatest = LEAST_EXPONENT;
  for (int i = 0; i < form.m * form.terms(); i += LANES) {
    Ints each = exponents(load<Floats>((float *)planes.a + i), least_a);
    store((i32 *)terms.exponents_a + i, each);
    greatest = larger(greatest, each);
  }
  for (int k = 0; k < form.k; ++k) {
    Floats row = load<Floats>(planes.b[k]);
    terms.wide_b[k] = to<Doubles>(row);
    greatest = larger(greatest, terms.exponents_b[k] = exponents(row, least_b));
  }
  for (int i = 0; i < form.m; ++i) greatest = larger(greatest, exponents(load<Floats>(planes.d[i])));
  if (__builtin_reduce_max(greatest) > 127) rows<form, core, true>(planes, terms);
  else rows<form, core, false>(planes, terms);
}

// Integers and doubles: a row of D at a time.
template <Form form> [[gnu::noinline]] void multiply(Planes<form> &planes, bool saturates) {
  using V = Vector<typename Planes<form>::T, LANES>;
  for (int i = 0; i < form.m; ++i) {
    V start = load<V>(planes.d[i]), total = form.a == f64 ? start : V(0);
    UNROLLED
    for (int k = 0; k < form.terms(); ++k) {
      V of_a = V(planes.a[i][k]), of_b = load<V>(planes.b[planes.column(i, k)]);
      if constexpr (form.a == f64) total = __builtin_elementwise_fma(of_a, of_b, total);
      else if constexpr (form.a == b1)
        total += __builtin_elementwise_popcount(form.extra == Extra::bit_and ? of_a & of_b : of_a ^ of_b);
      else total += of_a * of_b;
    }
    if constexpr (form.a != f64) total = saturates ? __builtin_elementwise_add_sat(start, total) : start + total;
    store(planes.d[i], total);
  }
}

template <Form form, Core core> void mma(Context *ctx, u32 base) {
  constexpr bool by_f16 = made_of_f16(form, core);
  Planes<form.summed()> planes;
  take<form.wrapping()>(planes, ctx, base);
  if constexpr (form.is_modelled())
    accumulate<form.summed(), core>(planes, least_exponent(by_f16 ? f16 : form.a),
                                    least_exponent(by_f16 ? f16 : form.b));
  else multiply(planes, form.saturates());
  give<form.c>(planes.d, ctx, base);
}

// --- matrices of 8 rows of 16 bytes

// The host address that a lane names.
u16 *row_of(Context *ctx, u32 thread) { return (u16 *)load<u64>(words_of(ctx, thread)); }

constexpr u32 SITE = 6, KIND = 7;  // words of a store: its site + 1, 0 if races are not looked for, and its kind

// Look for a race of each row that was written, and give the lane that named it whether there is none. A row that held
// its value already is a silent write.
template <u32 count> void check_rows(Context *ctx, u32 base, const bool (&changed)[8 * count]) {
  for (u32 lane = 8 * count; lane < WARP; ++lane) words_of(ctx, base + lane)[2] = 1;
  for (u32 row = 0; row < 8 * count; ++row) {
    u32 *words = words_of(ctx, base + row), kind = words[KIND] | (changed[row] ? 0 : SILENT);
    words[2] = emu_race(ctx, base + row, words[SITE] - 1, (u64)row_of(ctx, base + row), 16, kind);
  }
}

// Words: the address of a row; from word 2 on what the lane has of the matrices.
template <u32 count, bool transpose, bool stores> void matrices(Context *ctx, u32 base) {
  bool changed[8 * count] = {};
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 i = 0; i < count; ++i) {
      u32 &value = words_of(ctx, base + lane)[2 + i], group = lane / 4, thread = lane % 4;
      for (u32 e = 0; e < 2; ++e) {
        u32 row = transpose ? 2 * thread + e : group, column = transpose ? group : 2 * thread + e;
        u16 &half = row_of(ctx, base + 8 * i + row)[column];
        if constexpr (stores) {
          u16 element = value >> 16 * e;
          changed[8 * i + row] |= half != element;
          half = element;
        } else {
          value = e ? value | half << 16 : half;
        }
      }
    }
  if constexpr (stores)
    if (words_of(ctx, base)[SITE]) check_rows<count>(ctx, base, changed);
}

// Rows of 16 elements in 16 bytes: bytes, or 6 or 4 bits each in the first 12 or 8.
enum class Packing { b8, b6x16_p32, b4x16_p64 };

// An element of a row as a byte.
template <Packing form> u32 byte_of(const u8 *row, u32 column) {
  constexpr u32 WIDTH = form == Packing::b8 ? 8 : form == Packing::b6x16_p32 ? 6 : 4;
  u32 at = WIDTH * column, pair = row[at / 8] | row[(at + WIDTH - 1) / 8] << 8;
  return pair >> at % 8 & ((1 << WIDTH) - 1);
}

// Four bytes as a register.
template <class Of> u32 packed(Of of) { return of(0) | of(1) << 8 | of(2) << 16 | of(3) << 24; }

// Words: the address of a row; from word 2 on the registers: two of each matrix of 16 rows, or one of each of 8 rows.
// The first of two has four rows of one column, the second the same rows 8 columns on: U8x8_LDSM_T of NVIDIA/cutlass
// exchanges bytes of both after the load (cute/arch/copy_sm100.hpp), and its traits have the layout of the result.
template <u32 count, Packing form, bool is_square> void bytes(Context *ctx, u32 base) {
  u32 results[WARP][is_square ? 2 * count : count];
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 i = 0; i < (is_square ? 2 * count : count); ++i)
      results[lane][i] = packed([&](u32 e) {
        u32 row = is_square ? 16 * (i / 2) + 4 * (lane % 4) + e : 8 * i + lane / 4;
        u32 column = is_square ? lane / 4 + 8 * (i % 2) : 4 * (lane % 4) + e;
        return byte_of<form>((const u8 *)row_of(ctx, base + row), column);
      });
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 i = 0; i < (is_square ? 2 * count : count); ++i) words_of(ctx, base + lane)[2 + i] = results[lane][i];
}

// Two bytes of a register are of two rows, the other two 8 columns on, as U8x4_STSM_T has it.
template <u32 count> void store_bytes(Context *ctx, u32 base) {
  bool changed[8 * count] = {};
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 i = 0; i < count; ++i)
      for (u32 e = 0; e < 4; ++e) {
        u32 row = 8 * i + 2 * (lane % 4) + e % 2;
        u8 &place = ((u8 *)row_of(ctx, base + row))[lane / 4 + 8 * (e / 2)],
           value = words_of(ctx, base + lane)[2 + i] >> 8 * e;
        changed[row] |= place != value;
        place = value;
      }
  if (words_of(ctx, base)[SITE]) check_rows<count>(ctx, base, changed);
}

}  // namespace

extern "C" {

// Word 0 in: a row's two elements; word 1 out: two elements of a row of the transposed matrix.
void emu_movmatrix_trans(Context *ctx, u32 base) {
  for (u32 lane = 0; lane < WARP; ++lane) {
    u32 result = 0, group = lane / 4, thread = lane % 4;
    for (u32 e = 0; e < 2; ++e) {
      u32 word = words_of(ctx, base + (2 * thread + e) * 4 + group / 2)[0];
      result |= (word >> 16 * (group & 1) & 0xFFFF) << 16 * e;
    }
    words_of(ctx, base + lane)[1] = result;
  }
}

#define MATRICES(name, ...) void emu_##name(Context *ctx, u32 base) { matrices<__VA_ARGS__>(ctx, base); }
MATRICES(ldmatrix_x1, 1, false, false)
MATRICES(ldmatrix_x1_trans, 1, true, false)
MATRICES(ldmatrix_x2, 2, false, false)
MATRICES(ldmatrix_x2_trans, 2, true, false)
MATRICES(ldmatrix_x4, 4, false, false)
MATRICES(ldmatrix_x4_trans, 4, true, false)
MATRICES(stmatrix_x1, 1, false, true)
MATRICES(stmatrix_x1_trans, 1, true, true)
MATRICES(stmatrix_x2, 2, false, true)
MATRICES(stmatrix_x2_trans, 2, true, true)
MATRICES(stmatrix_x4, 4, false, true)
MATRICES(stmatrix_x4_trans, 4, true, true)

void emu_stmatrix_b8_x1_trans(Context *ctx, u32 base) { store_bytes<1>(ctx, base); }
void emu_stmatrix_b8_x2_trans(Context *ctx, u32 base) { store_bytes<2>(ctx, base); }
void emu_stmatrix_b8_x4_trans(Context *ctx, u32 base) { store_bytes<4>(ctx, base); }

#define BYTES(shape, count, form)                                                                   \
  void emu_ldmatrix_##shape##_x##count##_##form(Context *ctx, u32 base) {                           \
    bytes<count, Packing::form, __builtin_strcmp(#shape, "m16n16") == 0>(ctx, base);                    \
  }
#define NARROW(shape, count) BYTES(shape, count, b6x16_p32) BYTES(shape, count, b4x16_p64)
NARROW(m8n16, 1)
NARROW(m8n16, 2)
NARROW(m8n16, 4)
NARROW(m16n16, 1)
NARROW(m16n16, 2)
BYTES(m16n16, 1, b8)
BYTES(m16n16, 2, b8)

// The forms that the ISA's tables have (fragments.py), the modelled ones for each architecture.
#define CORE(name) Core{name::FRACTION_BITS, name::SPLITS, name::FP8_FRACTION_BITS}
#define NAMED(prefix, M, N, K, A, B, C, core, suffix, columns, extra) \
  void emu_##prefix##_m##M##n##N##k##K##_##A##_##B##_##C##suffix(Context *ctx, u32 base) { \
    mma<Form{M, N, columns, Kind::A, Kind::B, Kind::C, Extra::extra}, CORE(core)>(ctx, base); \
  }
#define FORM(M, N, K, A, B, C, core, suffix, extra) NAMED(mma, M, N, K, A, B, C, core, suffix, K, extra)
#define SPARSE(M, N, K, A, B, C, core, suffix, extra) NAMED(mma_sp, M, N, K, A, B, C, core, suffix, K, extra)
#define MODELLED(M, N, K, A, B, C) \
  FORM(M, N, K, A, B, C, ampere, _ampere, none) \
  FORM(M, N, K, A, B, C, ada, _ada, none) \
  FORM(M, N, K, A, B, C, hopper, _hopper, none) \
  FORM(M, N, K, A, B, C, blackwell, _blackwell, none) \
  FORM(M, N, K, A, B, C, blackwell_geforce, _blackwell_geforce, none)
#define SPARSE_MODELLED(M, N, K, A, B, C) \
  SPARSE(M, N, K, A, B, C, ampere, _ampere, sparse) \
  SPARSE(M, N, K, A, B, C, ada, _ada, sparse) \
  SPARSE(M, N, K, A, B, C, hopper, _hopper, sparse) \
  SPARSE(M, N, K, A, B, C, blackwell, _blackwell, sparse) \
  SPARSE(M, N, K, A, B, C, blackwell_geforce, _blackwell_geforce, sparse)
#define HALVES_BY(HOW, M, N, K) HOW(M, N, K, f16, f16, f16) HOW(M, N, K, f16, f16, f32) HOW(M, N, K, bf16, bf16, f32)
#define HALVES(M, N, K) HALVES_BY(MODELLED, M, N, K)
#define SPARSE_HALVES(M, N, K) HALVES_BY(SPARSE_MODELLED, M, N, K)
#define FP8_BY(M, N, K, A, B) MODELLED(M, N, K, A, B, f32) MODELLED(M, N, K, A, B, f16)
#define FP8(M, N, K) \
  FP8_BY(M, N, K, e4m3, e4m3) FP8_BY(M, N, K, e4m3, e5m2) FP8_BY(M, N, K, e5m2, e4m3) FP8_BY(M, N, K, e5m2, e5m2)
#define WHOLE(M, N, K, A, B) FORM(M, N, K, A, B, s32, hopper, , none) FORM(M, N, K, A, B, s32, hopper, _sat, satfinite)
#define SPARSE_WHOLE(M, N, K, A, B) \
  SPARSE(M, N, K, A, B, s32, hopper, , sparse) SPARSE(M, N, K, A, B, s32, hopper, _sat, sparse_satfinite)
#define SIGNS(HOW, M, N, K, S, U) HOW(M, N, K, S, S) HOW(M, N, K, S, U) HOW(M, N, K, U, S) HOW(M, N, K, U, U)
#define EIGHTS(M, N, K) SIGNS(WHOLE, M, N, K, s8, u8)
#define FOURTHS(M, N, K) SIGNS(WHOLE, M, N, K, s4, u4)
#define SPARSE_EIGHTS(M, N, K) SIGNS(SPARSE_WHOLE, M, N, K, s8, u8)
#define SPARSE_FOURTHS(M, N, K) SIGNS(SPARSE_WHOLE, M, N, K, s4, u4)
#define BITS(M, N, K) \
  NAMED(mma, M, N, K, b1, b1, s32, hopper, _bits_xor, (K) / 32, none) \
  NAMED(mma, M, N, K, b1, b1, s32, hopper, _bits_and, (K) / 32, bit_and)
#define DOUBLES(M, N, K) FORM(M, N, K, f64, f64, f64, hopper, , none)
MODELLED(16, 8, 4, tf32, tf32, f32)
MODELLED(16, 8, 8, tf32, tf32, f32)
HALVES(16, 8, 8)
HALVES(16, 8, 16)
FP8(16, 8, 16)
FP8(16, 8, 32)
EIGHTS(16, 8, 16)
EIGHTS(16, 8, 32)
EIGHTS(8, 8, 16)
FOURTHS(8, 8, 32)
FOURTHS(16, 8, 32)
FOURTHS(16, 8, 64)
BITS(8, 8, 128)
BITS(16, 8, 128)
BITS(16, 8, 256)
SPARSE_MODELLED(16, 8, 8, tf32, tf32, f32)
SPARSE_MODELLED(16, 8, 16, tf32, tf32, f32)
SPARSE_HALVES(16, 8, 16)
SPARSE_HALVES(16, 8, 32)
SPARSE_MODELLED(16, 8, 64, e4m3, e4m3, f32)
SPARSE_MODELLED(16, 8, 64, e4m3, e5m2, f32)
SPARSE_MODELLED(16, 8, 64, e5m2, e4m3, f32)
SPARSE_MODELLED(16, 8, 64, e5m2, e5m2, f32)
SPARSE_EIGHTS(16, 8, 32)
SPARSE_EIGHTS(16, 8, 64)
SPARSE_FOURTHS(16, 8, 64)
SPARSE_FOURTHS(16, 8, 128)
DOUBLES(16, 8, 4)
DOUBLES(16, 8, 8)
DOUBLES(16, 8, 16)
DOUBLES(8, 8, 4)
}
