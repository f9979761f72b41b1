// Products of matrices: dense planes of A, B and D, of which eight columns of a row of D are one vector.
//
// If all exponents of a sum are moderate, its products are exact as floats, and so is each of them once it is scaled to
// a whole number: then no double is needed. Any other sum is made as `mma` makes it, in doubles.
#include "tensor_core/planes.h"

namespace {

constexpr u32 MOST_K = 96, MOST_K_OF_B = 128, GROUP = 16, MOST_GROUPS = MOST_K / GROUP;  // groups are of e2m1x2
constexpr u32 LONG_PARTS = 3;  // of a long row, of 32 elements each

// --- operands as planes

constexpr u32 length(Kind kind) {  // elements of ROW_BYTES; 32 bits of b1 are one
  switch (kind) {
    case Kind::f16:
    case Kind::bf16: return 16;
    case Kind::tf32:
    case Kind::b1: return 8;
    case Kind::e2m1x2: return 64;
    default: return 32;
  }
}

// k elements as floats, their signs changed by `sign`; bits of b1 as words.
template <Kind kind, int k> void spread_row(const u8 *raw, float *out, u32 sign) {
  if constexpr (kind == Kind::b1) __builtin_memcpy(out, raw, ROW_BYTES);
  else {
    auto values = to<Vector<float, k>>(widened<kind, k>(raw));
    store(out, as<Vector<u32, k>>(values) ^ sign);
  }
}

// The plane of A: row by row. The plane of B: eight columns after eight columns, of which a vector has one k.
enum class Order { ROWS, EIGHTS };

// `parts`: how often a row has k elements.
template <Kind kind, u32 k = length(kind)> void spread_kind(const Operand &of, float *out, Order order, u32 parts) {
  constexpr u32 bytes = ROW_BYTES * k / length(kind);
  const u8 *raw = of.raw;
  const u32 sign = of.negated ? 1u << 31 : 0;
  alignas(64) float one[k];
  for (u32 row = 0; row < of.rows; ++row) {
    float *place = out + row / LANES * LANES * k * parts + row % LANES;
    for (u32 part = 0; part < parts; ++part, raw += bytes, place += LANES * k) {
      if (order == Order::ROWS) spread_row<kind, k>(raw, out + (row * parts + part) * k, sign);
      else {
        spread_row<kind, k>(raw, one, sign);
        UNROLLED
        for (u32 i = 0; i < k; ++i) place[LANES * i] = one[i];
      }
    }
  }
}

void spread(const Operand &of, float *out, Order order, u32 parts) {
  switch (of.kind) {
    case Kind::f16: return spread_kind<Kind::f16>(of, out, order, parts);
    case Kind::bf16: return spread_kind<Kind::bf16>(of, out, order, parts);
    case Kind::tf32: return spread_kind<Kind::tf32>(of, out, order, parts);
    case Kind::e4m3: return spread_kind<Kind::e4m3>(of, out, order, parts);
    case Kind::e5m2: return spread_kind<Kind::e5m2>(of, out, order, parts);
    case Kind::e2m3: return spread_kind<Kind::e2m3>(of, out, order, parts);
    case Kind::e3m2: return spread_kind<Kind::e3m2>(of, out, order, parts);
    case Kind::e2m1: return spread_kind<Kind::e2m1>(of, out, order, parts);
    case Kind::e2m1x2:
      if (of.is_long) return spread_kind<Kind::e2m1x2, 32>(of, out, order, LONG_PARTS);
      return spread_kind<Kind::e2m1x2>(of, out, order, parts);
    case Kind::s8: return spread_kind<Kind::s8>(of, out, order, parts);
    case Kind::u8: return spread_kind<Kind::u8>(of, out, order, parts);
    default: return spread_kind<Kind::b1>(of, out, order, parts);
  }
}

// The exponents of floats of an operand kind; whether one is an infinity or a NaN.
bool spread_exponents(const float *values, u32 count, Kind kind, i32 *out) {
  const i32 least = least_exponent(kind);
  Ints most = LEAST_EXPONENT;
  for (u32 i = 0; i < count; i += LANES) {
    Ints each = exponents(load<Floats>(values + i), least);
    store(out + i, each);
    most = larger(most, each);
  }
  return __builtin_reduce_max(most) > 127;
}

// --- scales

// A scale as significand * 2 ** exponent; a zero has exponent -126, a NaN a significand that is one.
struct Scale {
  float significand;
  i32 exponent;
};

Scale scale_of(u8 code, bool is_ue4m3) {
  if (!is_ue4m3) return {code == 255 ? __builtin_nanf("") : 1.0f, code - 127};
  code &= 0x7F;  // the sign is ignored
  if (code == 0x7F) return {__builtin_nanf(""), 0};
  if (code < 8) return {code / 8.0f, code ? 1 - small_float(Kind::e4m3).bias : LEAST_EXPONENT};
  return {1 + code % 8 / 8.0f, code / 8 - small_float(Kind::e4m3).bias};
}

// The scales of each group of a row of A and of a column of B.
struct ScalePlanes {
  float significands_a[MOST_ROWS][MOST_GROUPS];
  i32 exponents_a[MOST_ROWS][MOST_GROUPS];
  alignas(64) float significands_b[MOST_GROUPS][MOST_COLUMNS];
  alignas(64) i32 exponents_b[MOST_GROUPS][MOST_COLUMNS];

  ScalePlanes(const Scales &of, u32 rows, u32 n, u32 groups) {
    for (u32 group = 0; group < groups; ++group) {
      const u32 at = group * of.count / groups;
      for (u32 row = 0; row < rows; ++row) {
        Scale scale = scale_of(of.a[row * of.count + at], of.is_ue4m3);
        significands_a[row][group] = scale.significand;
        exponents_a[row][group] = scale.exponent;
      }
      for (u32 column = 0; column < n; ++column) {
        Scale scale = scale_of(of.b[column * of.count + at], of.is_ue4m3);
        significands_b[group][column] = scale.significand;
        exponents_b[group][column] = scale.exponent;
      }
    }
  }
  Floats significands(u32 row, u32 column, u32 group) const {
    return significands_a[row][group] * load<Floats>(&significands_b[group][column]);
  }
  Ints exponents(u32 row, u32 column, u32 group) const {
    return exponents_a[row][group] + load<Ints>(&exponents_b[group][column]);
  }
};

// --- sums

// Greatest exponents of the terms of a sum that floats are enough for: 2 ** (25 + 90) and products of 2 ** 102 are
// floats, and a product below the least float vanishes in the alignment.
constexpr int LEAST = -90, MOST = 100;

// The products of eight elements of a row of D.
struct Products {
  const float *a;
  const i32 *exponents_a;
  const float *b;
  const i32 *exponents_b;
  Floats of_b(int k) const { return load<Floats>(b + LANES * k); }
  Doubles product(int k) const { return (double)a[k] * to<Doubles>(of_b(k)); }
  Floats float_product(int k) const { return a[k] * of_b(k); }
  Ints exponent(int k) const { return exponents_a[k] + load<Ints>(exponents_b + LANES * k); }
  Floats factor(Ints exponent) const { return float_power(exponent); }
  const Products &unscaled() const { return *this; }
};

// What the elements of a row of a sparse A are multiplied by, of eight columns of B.
struct Gathered {
  alignas(64) float b[MOST_K * LANES];
  alignas(64) i32 exponents_b[MOST_K * LANES];
};

struct Planes {
  alignas(64) float a[MOST_ROWS * MOST_K];
  alignas(64) i32 exponents_a[MOST_ROWS * MOST_K];
  alignas(64) float b[MOST_K_OF_B * MOST_COLUMNS];
  alignas(64) i32 exponents_b[MOST_K_OF_B * MOST_COLUMNS];
  u32 rows, n;
  const u8 *columns;  // of the elements of a sparse A, or null
  bool special;       // whether an element of A or B is an infinity or a NaN

  // The products of a row of D and eight columns from `column` on.
  template <int terms> Products products(u32 row, u32 column, Gathered &gathered) const {
    const u32 at_a = row * terms, at_b = column * terms;
    if (!columns) return {a + at_a, exponents_a + at_a, b + at_b, exponents_b + at_b};
    gather<terms>(columns + at_a, 2 * at_b, gathered);
    return {a + at_a, exponents_a + at_a, gathered.b, gathered.exponents_b};
  }

  template <int terms> [[gnu::noinline]] void gather(const u8 *of_row, u32 at_b, Gathered &out) const {
    for (u32 k = 0; k < terms; ++k) {
      const u32 from = at_b + LANES * of_row[k];
      store(out.b + LANES * k, load<Floats>(b + from));
      store(out.exponents_b + LANES * k, load<Ints>(exponents_b + from));
    }
  }
};

// The same if both operands have one scale for all k, a power of two or a NaN.
struct ScaledProducts {
  Products of;
  Floats significand;
  Ints shift;
  const Products &unscaled() const { return of; }
  Doubles product(int k) const { return of.product(k) * to<Doubles>(significand) * power(shift); }
  Floats float_product(int k) const { return of.float_product(k); }
  Ints exponent(int k) const { return of.exponent(k) + shift; }
  Floats factor(Ints exponent) const { return float_power(smaller(larger(exponent + shift, -126), 127)); }
};

// What a sum starts from if it is D * 2 ** -shift; a zero keeps its exponent.
template <Sum S> Start shifted_start(Floats d, i32 shift) {
  Start start = start_of<S>(d);
  return {start.value * power(Ints(-shift)), start.exponent - (d == 0 ? Ints(0) : Ints(shift))};
}

// In doubles; a NaN is the canonical one.
template <Sum S, class Of> [[gnu::noinline]] void double_sum(const Of &of, float *d, u32 shift) {
  Floats total = any_sum<S>(of, shifted_start<S>(load<Floats>(d), shift));
  store(d, choose(total != total, as<Floats>(Ints(NAN_BITS)), total));
}

template <Sum S, class Of> [[gnu::always_inline]] inline Floats float_sum(const Of &of, Floats start, Ints greatest) {
  greatest = smaller(larger(greatest, LEAST), MOST);
  Floats scale = float_power(S.fraction_bits - greatest), factor = of.factor(S.fraction_bits - greatest);
  Doubles whole = added<S>(to<Ints>(start * scale), [&](int k) { return to<Ints>(of.float_product(k) * factor); });
  Floats back = float_power(greatest - S.fraction_bits);
  if (S.result == Result::F16) return to_half(whole * to<Doubles>(back));
  Ints kept = toward_zero(whole).bits;
  return as<Floats>(S.result == Result::E8M13 ? kept & -1024 : kept) * back;
}

// The lanes in which a term of the sum is not zero.
template <Sum S> [[gnu::noinline]] Ints some_term(const Products &of, Floats start) {
  Ints flags = start != 0;
  UNROLLED
  for (int k = 0; k < S.terms; ++k) {
    Floats b = of.of_b(k);
    if (of.a[k] < 0 || of.a[k] > 0) flags |= b < 0 | b > 0;
  }
  return flags;
}

// Eight elements of a row of D.
template <Sum S, class Of> [[gnu::always_inline]] inline void sum(const Of &of, float *d, bool special, u32 shift) {
  Floats start = load<Floats>(d);
  Ints greatest = exponents(start, S.least());
  UNROLLED
  for (int k = 0; k < S.terms; ++k) greatest = larger(greatest, of.exponent(k));
  Ints outside = greatest<LEAST | greatest> MOST;
  bool in_doubles = special | (shift != 0);
  if (in_doubles || (any(outside) && any(outside & some_term<S>(of.unscaled(), start)))) double_sum<S>(of, d, shift);
  else store(d, float_sum<S>(of, start, greatest));
}

// All of D, columns by eight and row by row: `sum_at(row, column, d)`.
template <class SumAt> [[gnu::always_inline]] inline void each_sum(const Planes &p, const Matrix &d, SumAt sum_at) {
  for (u32 column = 0; column < p.n; column += LANES)
    for (u32 row = 0; row < p.rows; ++row) sum_at(row, column, d.values + row * d.pitch + column);
}

template <Sum S> [[gnu::noinline]] void sums(const Planes &p, const Matrix &matrix, u32 shift) {
  Gathered gathered;
  each_sum(p, matrix, [&](u32 row, u32 column, float *d) {
    sum<S>(p.products<S.terms>(row, column, gathered), d, p.special, shift);
  });
}

template <Sum S> [[gnu::noinline]] void scaled_sums(const Planes &p, const ScalePlanes &scales, const Matrix &matrix) {
  Gathered gathered;
  each_sum(p, matrix, [&](u32 row, u32 column, float *d) {
    const Floats significand = scales.significands(row, column, 0);
    const ScaledProducts of{p.products<S.terms>(row, column, gathered), significand, scales.exponents(row, column, 0)};
    sum<S>(of, d, p.special || any(significand != significand), 0);
  });
}

// Sums of groups: what the products of a group add up to is exact, as are both significands of its scales times that.
// Groups and D are aligned to the largest exponent of scales and D, and truncated to 35 fraction bits.
template <u32 K> [[gnu::noinline]] void group_sums(const Planes &p, const ScalePlanes &scales, const Matrix &matrix) {
  constexpr int fraction_bits = 35;
  Gathered gathered;
  each_sum(p, matrix, [&](u32 row, u32 column, float *d) {
    const Products of = p.products<K>(row, column, gathered);
    Doubles start = to<Doubles>(load<Floats>(d)), total = 0;
    Ints greatest = exponents(load<Floats>(d));
    UNROLLED
    for (u32 g = 0; g < K / GROUP; ++g) greatest = larger(greatest, scales.exponents(row, column, g));
    UNROLLED
    for (u32 g = 0; g < K / GROUP; ++g) {
      Floats group = 0;
      UNROLLED
      for (u32 k = g * GROUP; k < (g + 1) * GROUP; ++k) group += of.float_product(k);
      Doubles value = to<Doubles>(group * scales.significands(row, column, g));
      total += trunc(value * power(fraction_bits - greatest + scales.exponents(row, column, g)));
    }
    total += trunc(start * power(fraction_bits - greatest));
    Floats sum = without_sign_of_zero(toward_zero(total * power(greatest - fraction_bits)).bits);
    store(d, choose(to<Ints>(total != total), as<Floats>(Ints(NAN_BITS)), sum));
  });
}

// d += the sums of `add(a, b, total)` over k, by eight columns; saturating instead of wrapping.
template <int K, class Total, class Add> void integer_sums(const Planes &p, const Matrix &d, bool saturates, Add add) {
  Gathered gathered;
  each_sum(p, d, [&](u32 row, u32 column, float *place) {
    const Products of = p.products<K>(row, column, gathered);
    Total total = 0;
    UNROLLED
    for (int k = 0; k < K; ++k) total = add(Floats(of.a[k]), of.of_b(k), total);
    Ints start = load<Ints>(place), sum = to<Ints>(total);
    store(place, saturates ? __builtin_elementwise_add_sat(start, sum) : start + sum);
  });
}

void add_integers(Kind kind, const Planes &p, const Matrix &d, bool saturates) {
  if (kind == Kind::b1)  // the bits that both have, counted
    return integer_sums<8, Ints>(p, d, saturates, [](Floats a, Floats b, Ints total) {
      return total + __builtin_elementwise_popcount(as<Ints>(a) & as<Ints>(b));
    });
  integer_sums<32, Floats>(p, d, saturates, [](Floats a, Floats b, Floats total) {
    return __builtin_elementwise_fma(a, b, total);  // 32 products together are exact as floats
  });
}

void add_floats(Kind kind, const Planes &p, const Matrix &d, const Rule &rule) {
  const u32 k = length(kind), shift = rule.shift;
  if (k == 8) return sums<Sum{8, 25, Result::F32}>(p, d, shift);
  if (k == 16)
    return rule.is_half ? sums<Sum{16, 25, Result::F16}>(p, d, shift) : sums<Sum{16, 25, Result::F32}>(p, d, shift);
  if (rule.fraction_bits == 13)
    return rule.is_half ? sums<Sum{32, 13, Result::F16}>(p, d, shift) : sums<Sum{32, 13, Result::E8M13}>(p, d, shift);
  return rule.is_half ? sums<Sum{32, 25, Result::F16}>(p, d, shift) : sums<Sum{32, 25, Result::F32}>(p, d, shift);
}

bool is_integer(Kind kind) { return kind == Kind::s8 || kind == Kind::u8 || kind == Kind::b1; }

// The planes of A and B.
void fill(Planes &planes, const Operand &a, const Operand &b) {
  planes.rows = a.rows;
  planes.n = b.rows;
  planes.columns = a.columns;
  spread(a, planes.a, Order::ROWS, 1);
  spread(b, planes.b, Order::EIGHTS, a.columns ? 2 : 1);
}

void fill_exponents(Planes &planes, const Operand &a, const Operand &b) {
  const u32 k = length(a.kind), k_of_b = a.columns ? 2 * k : k;
  planes.special = spread_exponents(planes.a, a.rows * k, a.kind, planes.exponents_a);
  planes.special |= spread_exponents(planes.b, b.rows * k_of_b, b.kind, planes.exponents_b);
}

}  // namespace

extern "C" void emu_multiply(const Operand &a, const Operand &b, const Matrix &d, const Rule &rule) {
  Planes planes;
  fill(planes, a, b);
  if (is_integer(a.kind)) return add_integers(a.kind, planes, d, rule.saturates);
  fill_exponents(planes, a, b);
  add_floats(a.kind, planes, d, rule);
}

extern "C" void emu_multiply_scaled(const Operand &a, const Operand &b, const Scales &scales, const Matrix &d) {
  Planes planes;
  fill(planes, a, b);
  const ScalePlanes of_groups(scales, a.rows, b.rows, a.is_long ? 6 : 4);
  if (a.is_long) return group_sums<96>(planes, of_groups, d);
  if (a.kind == Kind::e2m1x2) return group_sums<64>(planes, of_groups, d);
  fill_exponents(planes, a, b);
  scaled_sums<Sum{32, 25, Result::F32}>(planes, of_groups, d);
}
