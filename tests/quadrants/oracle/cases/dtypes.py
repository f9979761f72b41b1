"""Types, literals, casts, what an assignment keeps, and which type an operation gives."""

import numpy as np
import quadrants as qd
from options import options

INTEGERS = (qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u64)
FLOATS = (qd.f16, qd.f32, qd.f64)


def _pairs(types, operation, a, b):
    """`operation` of every pair of types on locals of a kernel, as f64."""
    n = len(types)
    out = qd.field(qd.f64, shape=(n, n))
    pick = qd.func(operation)

    @qd.kernel
    def k(a: qd.i32, b: qd.i32):
        for i, t in qd.static(enumerate(types)):
            for j, u in qd.static(enumerate(types)):
                out[i, j] = qd.cast(pick(qd.cast(a, t), qd.cast(b, u)), qd.f64)

    k(a, b)
    return out.to_numpy()


def _add(x, y):
    return x + y


def _sub(x, y):
    return x - y


def _mul(x, y):
    return x * y


def _max(x, y):
    return qd.max(x, y)


def _less(x, y):
    return x < y


def _and(x, y):
    return x & y


def _or(x, y):
    return x | y


def _xor(x, y):
    return x ^ y


def add_of_integer_types():
    return _pairs(INTEGERS, _add, 100, 120)


def add_of_negative_numbers():
    return _pairs(INTEGERS, _add, -3, 1)


def sub_of_integer_types():
    return _pairs(INTEGERS, _sub, 1, 2)


def mul_of_integer_types():
    return _pairs(INTEGERS, _mul, 100, 1000)


def max_of_i32_and_i64():
    return _pairs((qd.i32, qd.i64), _max, -1, 1)


def max_of_u32_and_f64():
    return _pairs((qd.u32, qd.f64), _max, 5, 7)


def less_of_integer_types():
    return _pairs(INTEGERS, _less, -1, 1)


def and_of_integer_types():
    return _pairs(INTEGERS, _and, -1, 1000)


def or_of_integer_types():
    return _pairs(INTEGERS, _or, -2, 1000)


def xor_of_integer_types():
    return _pairs(INTEGERS, _xor, -1, 1000)


def add_of_float_types():
    return _pairs(FLOATS + (qd.i32, qd.i64, qd.u8), _add, 2049, 16777217)


def mul_of_float_types():
    return _pairs(FLOATS + (qd.i16, qd.u64), _mul, 3, 7000)


def division_of_every_type():
    return _pairs(INTEGERS + FLOATS, _div, 7, 2)


def _div(x, y):
    return x / y


def floordiv_of_wide_types():
    return _pairs((qd.i16, qd.i32, qd.i64, qd.u16, qd.u32) + FLOATS, _floordiv, -7, 2)


def floordiv_of_8_bit_integers():
    return _pairs((qd.i8, qd.u8), _floordiv, 7, 2)


def _floordiv(x, y):
    return x // y


def mod_of_wide_types():
    return _pairs((qd.i16, qd.i32, qd.i64) + FLOATS, _mod, -7, 3)


def mod_of_unsigned_types():
    return _pairs((qd.u16, qd.u32, qd.u64), _mod, 7, 4)


def mod_of_8_bit_integers():
    return _pairs((qd.i8, qd.u8), _mod, 7, 3)


def _mod(x, y):
    return x % y


def casts_of_a_float():
    out = qd.field(qd.f64, shape=8)

    @qd.kernel
    def k(a: qd.f32):
        for i, t in qd.static(enumerate((qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.f64))):
            out[i] = qd.cast(a, t)

    k(100.7)
    return out.to_numpy()


def casts_of_a_negative_float_to_signed():
    out = qd.field(qd.i64, shape=4)

    @qd.kernel
    def k(a: qd.f64):
        for i, t in qd.static(enumerate((qd.i8, qd.i16, qd.i32, qd.i64))):
            out[i] = qd.cast(a, t)

    k(-100.7)
    return out.to_numpy()


def casts_of_an_integer_narrow():
    out = qd.field(qd.i64, shape=8)

    @qd.kernel
    def k(a: qd.i64):
        for i, t in qd.static(enumerate((qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u1))):
            out[i] = qd.cast(a, t)

    k((1 << 40) + 65535 * 65536 + 40000)
    return out.to_numpy()


def cast_by_calling_a_type():
    @qd.kernel
    def k(a: qd.f32) -> qd.f64:
        return qd.i32(a) + qd.f64(0.5) + qd.i64(2)

    return k(3.9)


def cast_by_python_types():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return int(a) + float(1) / 2

    return k(3.9)


def bit_cast_float_and_back():
    @qd.kernel
    def k(a: qd.f32) -> qd.i32:
        return qd.bit_cast(a, qd.i32)

    @qd.kernel
    def b(a: qd.i32) -> qd.f32:
        return qd.bit_cast(a, qd.f32)

    return [k(1.5), b(0x40490FDB)]


def bit_cast_of_other_width():
    @qd.kernel
    def k(a: qd.f32) -> qd.i64:
        return qd.bit_cast(a, qd.i64)

    return k(1.5)


def float_literal_is_f32():
    @qd.kernel
    def k(a: qd.f64) -> qd.f64:
        return a + 0.1

    return k(0.0)


@options(default_fp=qd.f64)
def float_literal_is_f64_by_default_fp():
    @qd.kernel
    def k(a: qd.f64) -> qd.f64:
        return a + 0.1

    return k(0.0)


@options(default_ip=qd.i64)
def integer_literal_is_i64_by_default_ip():
    @qd.kernel
    def k() -> qd.i64:
        a = 5000000000
        return a + 1

    return k()


def integer_literal_too_large():
    @qd.kernel
    def k() -> qd.i64:
        a = 5000000000
        return a

    return k()


def integer_literal_too_large_cast():
    @qd.kernel
    def k() -> qd.i64:
        return qd.i64(5000000000)

    return k()


def literal_of_u32():
    @qd.kernel
    def k() -> qd.u32:
        return qd.u32(4294967295)

    return k()


def literal_largest_and_smallest():
    @qd.kernel
    def k() -> qd.i32:
        return 2147483647

    @qd.kernel
    def b() -> qd.i32:
        return -2147483648

    return [k(), b()]


def literal_hex_and_octal():
    @qd.kernel
    def k() -> qd.i32:
        return 0x1F + 0o17 + 0b101

    return k()


def wraparound_of_i32():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a + 1

    return k(2147483647)


def first_assignment_fixes_the_type():
    @qd.kernel
    def k() -> qd.f32:
        a = 1
        a = 2.9
        return a

    return k()


def augmented_assignment_truncates():
    @qd.kernel
    def k() -> qd.f32:
        a = 1
        a += 2.9
        return a

    return k()


def float_local_takes_integers():
    @qd.kernel
    def k() -> qd.f32:
        a = 1.0
        a = 7 // 2
        return a

    return k()


def integer_field_takes_floats():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        x[0] = 2.9
        x[1] = -2.9
        x[2] = True

    k()
    return x.to_numpy()


def integer_field_plus_equals_a_float():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        x[None] = 5
        x[None] += 0.7
        x[None] += 1.7

    k()
    return x[None]


def narrow_field_wraps():
    x = qd.field(qd.u8, shape=2)

    @qd.kernel
    def k(a: qd.i32):
        x[0] = a
        x[1] = a + 300

    k(255)
    return x.to_numpy()


def annotated_assignment_casts():
    @qd.kernel
    def k() -> qd.f64:
        a: qd.i32 = 2.9
        b: qd.f64 = 3
        b += 0.5
        return a + b

    return k()


def annotated_assignment_of_a_known_name():
    @qd.kernel
    def k():
        a = 1
        a: qd.f32 = 2

    k()


def type_arguments_int_and_float():
    @qd.kernel
    def k(a: int, b: float) -> float:
        return a + b

    return k(3, 0.5)


def f16_rounds():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return qd.cast(qd.cast(a, qd.f16), qd.f32)

    return [k(2049.0), k(0.1), k(70000.0)]


def f32_rounds_at_every_operation():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return a * b + a

    return [k(0.1, 0.3), k(1e20, 1e20)]


def i64_plus_f32():
    @qd.kernel
    def k(a: qd.i64, b: qd.f32) -> qd.f64:
        return a + b

    return k(16777217, 0.0)


def negation_of_unsigned():
    @qd.kernel
    def k(a: qd.u32) -> qd.i64:
        return qd.i64(-a)

    return k(1)


def invert():
    out = qd.field(qd.i64, shape=8)

    @qd.kernel
    def k(a: qd.i32):
        for i, t in qd.static(enumerate(INTEGERS)):
            out[i] = ~qd.cast(a, t)

    k(5)
    return out.to_numpy()


def invert_of_a_float():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return ~a

    return k(1.0)


def bits_of_a_float():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return a & 1

    return k(1.0)


def captured_numpy_scalars():
    a, b = np.int64(3), np.float32(0.5)

    @qd.kernel
    def k() -> qd.f32:
        return a + b

    return k()


def captured_large_integer():
    a = 1 << 40

    @qd.kernel
    def k() -> qd.i64:
        return a

    return k()


def u1_field():
    x = qd.field(qd.u1, shape=3)

    @qd.kernel
    def k():
        x[0] = True
        x[1] = 5
        x[2] = 0

    k()
    return [x[0], x[1], x[2], x.to_numpy()]


def min_and_max_of_many():
    @qd.kernel
    def k(a: qd.i32, b: qd.f32, c: qd.i32) -> qd.f32:
        return qd.max(a, b, c) * 10 + min(a, b, c)

    return k(1, 2.5, 2)


def infinity_and_nan_literals():
    inf, nan = float("inf"), float("nan")

    @qd.kernel
    def k() -> qd.f32:
        return inf

    @qd.kernel
    def b() -> qd.f32:
        return nan

    return [k(), b()]


def math_constants():
    @qd.kernel
    def k() -> qd.f32:
        return qd.math.pi + qd.math.e

    return k()


def integer_true_division_is_float():
    @qd.kernel
    def k(a: qd.i32) -> qd.f32:
        return a / 2

    return [k(7), k(-7)]


def type_names():
    return [str(t) for t in INTEGERS + FLOATS]


def literals_of_a_type():
    third = 1 / 3

    @qd.kernel
    def k() -> (qd.f64, qd.f64, qd.f64, qd.f64, qd.f64, qd.f64, qd.f32, qd.i64):
        x = third
        return (
            qd.f64(0.1),
            qd.f64(1.2345e300),
            qd.f64(third),
            qd.f64(x),
            third,
            qd.f64(0.1) + 0.1,
            qd.f16(0.1),
            qd.i64(1 << 40),
        )

    return list(k())
