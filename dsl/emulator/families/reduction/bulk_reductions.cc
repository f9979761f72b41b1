// cp.reduce.async.bulk: what lands is combined with what is there, element by element.
// PTX ISA 9.7.9.25.4.2 (bytes), 9.7.9.27.1.3 (boxes of tensors).
#include "families/reduction/bulk_reductions.h"

namespace {

using namespace reduction;

// The types that an operation has, a bit each.
constexpr u32 types_of(u32 operation) {
  switch (operation) {
    case ADD: return reduced_types::ADD;
    case MIN: return reduced_types::MIN;
    case MAX: return reduced_types::MAX;
    case INC: return reduced_types::INC;
    case DEC: return reduced_types::DEC;
    case AND: return reduced_types::AND;
    case OR: return reduced_types::OR;
    case XOR: return reduced_types::XOR;
  }
  return 0;
}

// A 16-bit float in memory. Results are computed as floats and rounded to nearest even; a NaN is the canonical one.
struct Bfloat {
  u16 bits;
  operator float() const { return __builtin_bit_cast(float, (u32)bits << 16); }
  Bfloat(float value) {
    u32 word = __builtin_bit_cast(u32, value);
    bits = value != value ? 0x7FFF : (word + 0x7FFF + (word >> 16 & 1)) >> 16;
  }
};

// The new value of an element. Of a NaN and a number, min and max give the number.
template <u32 operation, class T> T combined(T old, T given) {
  if constexpr (operation == ADD) return old + given;
  else if constexpr (operation == INC) return old >= given ? 0 : old + 1;
  else if constexpr (operation == DEC) return old == 0 || old > given ? given : old - 1;
  else if constexpr (operation == AND) return old & given;
  else if constexpr (operation == OR) return old | given;
  else if constexpr (operation == XOR) return old ^ given;
  else return old != old || (operation == MAX ? given > old : given < old) ? given : old;
}

// Elements of type T, computed as `Wide`.
template <u32 operation, class T, class Wide = T> void reduce_all(u8 *target, const u8 *source, u32 size) {
  for (u32 at = 0; at + sizeof(T) <= size; at += sizeof(T)) {
    alignas(T) u8 a[sizeof(T)], b[sizeof(T)];
    __builtin_memcpy(a, target + at, sizeof(T));
    __builtin_memcpy(b, source + at, sizeof(T));
    T result = (T)combined<operation, Wide>((Wide) * (T *)a, (Wide) * (T *)b);
    __builtin_memcpy(target + at, &result, sizeof(T));
  }
}

template <u32 operation> void reduce_by(u8 *target, const u8 *source, u32 size, u32 type) {
  switch (type) {
#define CASE(name, ...) \
  case element::name: \
    if constexpr (types_of(operation) >> element::name & 1) reduce_all<operation, __VA_ARGS__>(target, source, size); \
    return;
    CASE(U32, u32)
    CASE(S32, i32)
    CASE(U64, u64)
    CASE(S64, i64)
    CASE(F16, _Float16, float)
    CASE(F32, float)
    CASE(F32_FTZ, float)
    CASE(F64, double)
    CASE(BF16, Bfloat, float)
#undef CASE
  }
}

}  // namespace

bool is_reduction(u32 code) { return types_of(code >> OPERATION_SHIFT) >> (code & 15) & 1; }

void bulk_reduce(u8 *target, const u8 *source, u32 size, u32 code) {
  switch (u32 type = code & 15; code >> OPERATION_SHIFT) {
    case ADD: return reduce_by<ADD>(target, source, size, type);
    case MIN: return reduce_by<MIN>(target, source, size, type);
    case MAX: return reduce_by<MAX>(target, source, size, type);
    case INC: return reduce_by<INC>(target, source, size, type);
    case DEC: return reduce_by<DEC>(target, source, size, type);
    case AND: return reduce_by<AND>(target, source, size, type);
    case OR: return reduce_by<OR>(target, source, size, type);
    case XOR: return reduce_by<XOR>(target, source, size, type);
  }
}
