"""// % ** shifts, C-like division, and the functions of mathematics."""

import numpy as np
import quadrants as qd
from options import options

SIGNS = ((7, 3), (-7, 3), (7, -3), (-7, -3), (6, 3), (-6, 3))


def floordiv_of_integers():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a // b

    return [k(a, b) for a, b in SIGNS]


def mod_of_integers():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a % b

    return [k(a, b) for a, b in SIGNS]


def floordiv_of_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return a // b

    return [k(a + 0.5, b) for a, b in SIGNS]


def mod_of_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return a % b

    return [k(a + 0.5, b) for a, b in SIGNS]


def floordiv_of_unsigned():
    @qd.kernel
    def k(a: qd.u32, b: qd.u32) -> qd.u32:
        return a // b

    return [k(7, 3), k(4294967295, 2)]


def mod_of_unsigned():
    @qd.kernel
    def k(a: qd.u32, b: qd.u32) -> qd.u32:
        return a % b

    return [k(7, 3), k(4294967295, 10)]


def raw_div_and_raw_mod():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return qd.raw_div(a, b) * 100 + qd.raw_mod(a, b)

    return [k(a, b) for a, b in SIGNS]


def raw_div_of_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return qd.raw_div(a, b)

    return k(7.0, 2.0)


def floordiv_of_constants():
    @qd.kernel
    def k() -> qd.i32:
        return -7 // 2 * 100 + -7 % 3

    return k()


def floordiv_and_mod_of_constants_in_variables():
    @qd.kernel
    def k() -> qd.i32:
        a = -6
        return a % 1000 * 10 + a // 4

    return k()


def division_by_zero_of_integers():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a // b

    return k(1, 0)


def modulo_by_zero_of_integers():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a % b

    return k(1, 0)


def division_by_zero_of_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return a / b

    return [k(1, 0), k(-1, 0), k(0, 0)]


def power_of_integers():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a**b

    return [k(2, 10), k(-3, 3), k(5, 0), k(0, 0)]


def power_with_a_literal():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a**3 + 2**5

    return k(-4)


def power_of_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return a**b

    return [k(2.0, 0.5), k(2.0, -1.0), k(9.0, 0.5)]


def power_of_a_float_and_an_integer():
    @qd.kernel
    def k(a: qd.f32, b: qd.i32) -> qd.f32:
        return a**b

    return [k(1.5, 3), k(2.0, -2)]


def power_of_i64():
    @qd.kernel
    def k(a: qd.i64, b: qd.i32) -> qd.i64:
        return a**b

    return k(3, 30)


def power_by_name():
    @qd.kernel
    def k(a: qd.f32, b: qd.i32) -> qd.f32:
        return qd.pow(a, b) + pow(2.0, 3)

    return k(1.5, 2)


def shifts_of_signed():
    @qd.kernel
    def k(a: qd.i32, n: qd.i32) -> qd.i32:
        return (a << n) + (a >> n) * 1000

    return [k(5, 1), k(-16, 2), k(1, 31)]


def shifts_of_unsigned():
    @qd.kernel
    def k(a: qd.u32, n: qd.i32) -> qd.u32:
        return a >> n

    @qd.kernel
    def b(a: qd.u32, n: qd.i32) -> qd.u32:
        return a << n

    return [k(0x80000000, 4), b(0x80000001, 4)]


def logical_shift_right():
    @qd.kernel
    def k(a: qd.i32, n: qd.i32) -> qd.i32:
        return qd.bit_shr(a, n)

    return [k(-1, 28), k(16, 2)]


def shift_of_i64():
    @qd.kernel
    def k(a: qd.i64, n: qd.i32) -> qd.i64:
        return a << n

    return k(1, 40)


def shift_of_a_float():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return a << 1

    return k(1.0)


def bit_operations():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return (a & b) * 10000 + (a | b) * 100 + (a ^ b)

    return [k(12, 10), k(-1, 3)]


def augmented_assignments():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        a = n
        a += 3
        a *= 4
        a -= 5
        a //= 2
        a %= 100
        a <<= 2
        a >>= 1
        a |= 1
        a &= 0xFF
        a ^= 5
        a **= 2
        return a

    return [k(7), k(-50)]


def augmented_true_division():
    @qd.kernel
    def k(n: qd.f32) -> qd.f32:
        a = n
        a /= 4
        return a

    return k(7)


def augmented_true_division_of_an_integer():
    @qd.kernel
    def k(n: qd.i32) -> qd.f32:
        a = n
        a /= 2
        return a

    return k(7)


def precedence():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return -(a**2) + a * 3 - 1 << 2 & 0xFF

    return k(3)


def unary_minus_and_plus():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return -a * 10 + (+a)

    return k(4)


def abs_and_sign():
    @qd.kernel
    def k(a: qd.i32, b: qd.f32) -> qd.f32:
        return abs(a) * 100 + abs(b)

    return k(-3, -2.5)


def floor_ceil_round():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return qd.floor(a) * 10000 + qd.ceil(a) * 100 + qd.round(a)

    return [k(2.5), k(-2.5), k(3.2), k(3.7)]


def floor_of_a_literal_is_a_float():
    @qd.kernel
    def k() -> qd.f32:
        a = qd.floor(-1.5)
        a += 0.25
        return a + qd.ceil(0.5) + qd.round(2.75)

    return k()


def floor_to_an_integer_type():
    @qd.kernel
    def k(a: qd.f32) -> qd.i32:
        return qd.floor(a, qd.i32) * 100 + qd.ceil(a, qd.i32)

    return [k(2.5), k(-2.5)]


def square_roots():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return qd.sqrt(a)

    return [k(2.0), k(9.0), k(0.0)]


def exact_elementary_values():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return qd.sin(a) + qd.cos(a) * 10 + qd.exp(a) * 100 + qd.tan(a)

    return k(0.0)


def elementary_values_rounded():
    x = qd.field(qd.f64, shape=9)

    @qd.kernel
    def k(a: qd.f64):
        x[0] = qd.sin(a)
        x[1] = qd.cos(a)
        x[2] = qd.tan(a)
        x[3] = qd.exp(a)
        x[4] = qd.log(a)
        x[5] = qd.tanh(a)
        x[6] = qd.asin(a)
        x[7] = qd.acos(a)
        x[8] = qd.atan2(a, qd.f64(2.0))

    k(0.75)
    return [round(float(v), 10) for v in x.to_numpy()]


def rsqrt_and_sqrt_of_f64():
    @qd.kernel
    def k(a: qd.f64) -> qd.f64:
        return qd.sqrt(a)

    return k(2.0)


def sqrt_of_an_integer():
    @qd.kernel
    def k(a: qd.i32) -> qd.f32:
        return qd.sqrt(a)

    return k(16)


def popcount_and_leading_zeros():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return qd.math.popcnt(a) * 100 + qd.math.clz(a)

    return [k(255), k(1)]


def integer_over_a_float():
    """`/` takes the integer as a number of the default float type, which a narrower float does not keep."""

    @qd.kernel
    def k(a: int, h: qd.f16, s: qd.f32, u: qd.u8, o: qd.types.ndarray()):
        o[0] = a / h
        o[1] = h / u
        o[2] = a / s
        o[3] = u / a

    o = np.zeros(4, np.float64)
    k(5, 3.0, 3.0, 10, o)
    return o


@options(default_fp=qd.f64)
def integer_over_a_float_of_a_wide_default():
    @qd.kernel
    def k(a: int, h: qd.f16, s: qd.f32, o: qd.types.ndarray()):
        o[0] = a / h
        o[1] = s / a
        o[2] = a / s

    o = np.zeros(3, np.float64)
    k(5, 3.0, 3.0, o)
    return o
