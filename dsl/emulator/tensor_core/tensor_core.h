// Tensor cores: sums of products for each architecture, bit for bit as measured; eight elements of a row
// of D side by side.
//
// A sum is made at once: every product is exact, all of them and the accumulator are aligned to the largest exponent
// and truncated to some fraction bits, then added. Sources: Xie et al. 2025 (arXiv 2511.10909: Volta to Blackwell);
// Fasi, Higham, Mikaitis, Pranesh 2021 (V100, T4, A100). What `mma` of 8-bit floats is on Hopper is read off the SASS
// of ptxas 13.0, which has no such instruction for sm_90: two HMMA of f16 and an addition.
#pragma once
#include "machine/emu.h"

constexpr int LANES = 8;
template <class T, int N> using Vector = T __attribute__((ext_vector_type(N)));
using Floats = Vector<float, LANES>;
using Doubles = Vector<double, LANES>;
using Ints = Vector<i32, LANES>;
using Longs = Vector<i64, LANES>;
using Halves = Vector<_Float16, LANES>;

template <class To, class From> To as(From value) { return __builtin_bit_cast(To, value); }
template <class To, class From> To to(From value) { return __builtin_convertvector(value, To); }
template <class V> V load(const void *place) {  // aligned as its elements are
  V value;
  __builtin_memcpy(&value, place, sizeof value);
  return value;
}
template <class V> void store(void *place, V value) { __builtin_memcpy(place, &value, sizeof value); }

inline Ints larger(Ints a, Ints b) { return __builtin_elementwise_max(a, b); }
inline Ints smaller(Ints a, Ints b) { return __builtin_elementwise_min(a, b); }
inline Doubles trunc(Doubles value) { return __builtin_elementwise_trunc(value); }
inline Floats choose(Ints condition, Floats yes, Floats no) { return condition ? yes : no; }
inline bool any(Ints flags) { return __builtin_reduce_or(flags) != 0; }

// ** elements

enum class Kind : u32 {
  f16 = operand_kind::F16,
  bf16 = operand_kind::BF16,
  tf32 = operand_kind::TF32,
  e4m3 = operand_kind::E4M3,
  e5m2 = operand_kind::E5M2,
  s8 = operand_kind::S8,
  u8 = operand_kind::U8,
  b1 = operand_kind::B1,
  e2m3 = operand_kind::E2M3,
  e3m2 = operand_kind::E3M2,
  e2m1 = operand_kind::E2M1,
  e2m1x2 = operand_kind::E2M1X2,
  f64 = operand_kind::F64,
  f32 = operand_kind::F32,
  s32 = operand_kind::S32,
  s4 = operand_kind::S4,
  u4 = operand_kind::U4
};

// Floats of at most 8 bits whose codes are all numbers, but for the NaN of e4m3.
struct SmallFloat { int width, fraction, bias; };
constexpr SmallFloat small_float(Kind kind) {
  switch (kind) {
    case Kind::e4m3: return {8, 3, 7};
    case Kind::e2m3: return {6, 3, 1};
    case Kind::e3m2: return {6, 2, 3};
    default: return {4, 1, 1};
  }
}

// Their values: the bits where an f16 has them, scaled by the difference of the biases.
template <SmallFloat format, int count> Vector<float, count> small_floats(Vector<u16, count> code) {
  constexpr int sign = format.width - 1;
  Vector<u16, count> size = code & ((1 << sign) - 1), negative = code & (1 << sign);
  Vector<u16, count> bits = size << (10 - format.fraction) | negative << (15 - sign);
  return to<Vector<float, count>>(as<Vector<_Float16, count>>(bits)) * float(1 << (15 - format.bias));
}

// Elements of memory: floats as float, integers as i32.
template <Kind kind, int count> [[gnu::always_inline]] inline auto widened(const void *raw) {
  using Wide = Vector<float, count>;
  using Halves = Vector<_Float16, count>;
  using Shorts = Vector<u16, count>;
  using Words = Vector<u32, count>;
  if constexpr (kind == Kind::s8) return to<Vector<i32, count>>(load<Vector<signed char, count>>(raw));
  else if constexpr (kind == Kind::u8) return to<Vector<i32, count>>(load<Vector<u8, count>>(raw));
  else if constexpr (kind == Kind::s4 || kind == Kind::u4) {
    static_assert(count == 8);
    Words top = load<u32>(raw) << Words{28, 24, 20, 16, 12, 8, 4, 0};
    return kind == Kind::s4 ? as<Vector<i32, count>>(top) >> 28 : as<Vector<i32, count>>(top >> 28);
  } else if constexpr (kind == Kind::f16) return to<Wide>(load<Halves>(raw));
  else if constexpr (kind == Kind::bf16) return as<Wide>(to<Words>(load<Shorts>(raw)) << 16);
  else if constexpr (kind == Kind::tf32) return as<Wide>(load<Words>(raw) & 0xFFFFE000u);
  else if constexpr (kind == Kind::e2m1x2) {
    Vector<u16, count / 2> two = to<Vector<u16, count / 2>>(load<Vector<u8, count / 2>>(raw));
    two = (two & 15) | (two >> 4) << 8;
    return small_floats<small_float(kind), count>(to<Shorts>(as<Vector<u8, count>>(two)));
  } else {
    Shorts code = to<Shorts>(load<Vector<u8, count>>(raw));
    if constexpr (kind == Kind::e5m2) return to<Wide>(as<Halves>((Shorts)(code << 8)));
    else if constexpr (kind == Kind::e2m1) return small_floats<small_float(kind), count>(code >> 2);
    else if constexpr (kind == Kind::e4m3) {
      Vector<i32, count> is_nan = to<Words>(code & 0x7F) == 0x7F;
      return is_nan ? Wide(__builtin_nanf("")) : small_floats<small_float(kind), count>(code);
    } else return small_floats<small_float(kind), count>(code);
  }
}

using Two = Vector<float, 2>;

// Two floats as a register of f16, rounded to nearest even; a NaN is the canonical one.
inline u32 half_bits(Two two) {
  using Shorts = Vector<short, 2>;
  Shorts bits = as<Shorts>(to<Vector<_Float16, 2>>(two)), is_nan = to<Shorts>(two != two);
  return as<u32>(is_nan ? Shorts(0x7FFF) : bits);
}

// ** sums

constexpr int LEAST_EXPONENT = -126, LEAST_OF_HALF = -14;
constexpr float INFINITY = __builtin_inff();
constexpr u32 NAN_BITS = 0x7FFFFFFF;  // the canonical NaN

constexpr int least_exponent(Kind kind) {
  switch (kind) {
    case Kind::f16:
    case Kind::e5m2: return LEAST_OF_HALF;
    case Kind::e4m3:
    case Kind::e2m3:
    case Kind::e3m2:
    case Kind::e2m1: return 1 - small_float(kind).bias;
    default: return LEAST_EXPONENT;
  }
}

// The exponents of floats: of a subnormal the least of its type, of a zero -126, of an infinity or NaN 128.
inline Ints exponents(Floats values, int least = LEAST_EXPONENT) {
  Ints bits = as<Ints>(values), exponent = larger((bits >> 23 & 0xFF) - 127, least);
  return bits << 1 == 0 ? LEAST_EXPONENT : exponent;
}

inline Floats without_sign_of_zero(Ints bits) { return as<Floats>(bits << 1 == 0 ? Ints(0) : bits); }

// Doubles truncated to floats, infinity from 2 ** 128 on: their bits, and where bits were lost.
struct Truncated { Ints bits, lost; };
inline Truncated toward_zero(Doubles value) {
  Floats nearest = to<Floats>(value);
  Doubles back = to<Doubles>(nearest), size = __builtin_elementwise_abs(value);
  Longs too_large = __builtin_elementwise_abs(back) > size & size < 0x1p128;
  return {as<Ints>(nearest) + to<Ints>(too_large), to<Ints>(back<value | back> value)};
}

// Doubles rounded once to f16, as floats: lost bits are kept as one sticky bit until then.
inline Floats to_half(Doubles value) {
  auto [bits, lost] = toward_zero(value);
  Halves rounded = to<Halves>(as<Floats>(bits | (lost & 1)));
  return without_sign_of_zero(as<Ints>(to<Floats>(rounded)));
}

inline Doubles power(Ints exponent) { return as<Doubles>(to<Longs>(exponent + 1023) << 52); }
inline Floats float_power(Ints exponent) { return as<Floats>((exponent + 127) << 23); }

enum class Result { F32, F16, E8M13 };  // truncated, to nearest even, truncated

// A kind of sum: of `terms` products, and the result of the sum before (for the first the accumulator).
struct Sum {
  int terms, fraction_bits;
  Result result;
  // A subnormal accumulator has the least exponent of its type.
  constexpr int least() const { return result == Result::F16 ? LEAST_OF_HALF : LEAST_EXPONENT; }
};

// `values * scale` as whole numbers, towards zero: each is below 2 ** (fraction bits + 2).
inline Ints truncated(Doubles values, Doubles scale) { return to<Ints>(values * scale); }

#define UNROLLED _Pragma("clang loop unroll(full)")

// What a sum starts from, with its exponent.
struct Start {
  Doubles value;
  Ints exponent;
};
template <Sum S> [[gnu::always_inline]] inline Start start_of(Floats values) {
  return {to<Doubles>(values), exponents(values, S.least())};
}

// The start and `term(k)` of each k added: 16 terms of 25 fraction bits fit in 32 bits together.
template <Sum S, class Term> [[gnu::always_inline]] inline Doubles added(Ints start, Term term) {
  constexpr int together = 16;
  Doubles total = to<Doubles>(start);
  UNROLLED
  for (int first = 0; first < S.terms; first += together) {
    Ints part = 0;
    UNROLLED
    for (int k = first; k < min(first + together, S.terms); ++k) part += term(k);
    total += to<Doubles>(part);
  }
  return total;
}

// A sum whose operands are finite. `of` has the products and their exponents by k.
template <Sum S, class Products> [[gnu::always_inline]] inline Floats finite_sum(const Products &of, Start start) {
  Ints greatest = start.exponent;
  UNROLLED
  for (int k = 0; k < S.terms; ++k) greatest = larger(greatest, of.exponent(k));
  Doubles scale = power(S.fraction_bits - greatest);
  Doubles whole = added<S>(truncated(start.value, scale), [&](int k) { return truncated(of.product(k), scale); });
  Doubles value = whole * power(greatest - S.fraction_bits);
  if (S.result == Result::F16) return to_half(value);
  Ints bits = toward_zero(value).bits;
  return without_sign_of_zero(S.result == Result::E8M13 ? bits & -1024 : bits);
}

// As IEEE 754 has it where an operand makes it infinite or NaN, and only there.
template <Sum S, class Products> [[gnu::always_inline]] inline Floats any_sum(const Products &of, Start start) {
  Doubles exact = start.value;
  UNROLLED
  for (int k = 0; k < S.terms; ++k) exact += of.product(k);
  Ints special = to<Ints>(!(__builtin_elementwise_abs(exact) < (double)INFINITY));
  return choose(special, to<Floats>(exact), finite_sum<S>(of, start));
}
