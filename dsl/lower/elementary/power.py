"""pow and cbrt of floats."""

from __future__ import annotations

from dsl.lower.elementary.exponential import scaled, whole
from dsl.lower.elementary.expression import FLOAT, Value, constant_of, fma, polynomial, select, trunc, with_sign
from dsl.lower.elementary.logarithm import parts
from dsl.lower.elementary.quotient import reciprocal

INFINITY, _NAN = float("inf"), float("nan")
_SCALE, _SCALE_LOW = 2.88539004, 3.85192607e-08  # 2 / ln 2
_THIRD, _THIRD_LOW = 0.333333343, -9.93410776e-09
# of (atanh(s) / s - 1) / s**2 - 1 / 3, over s**2
_ATANH = (0.119345717, 0.142629653, 0.200001925)
# of 2**r - 1, over r
_EXP2 = (0.000153274988, 0.00133912417, 0.0096185049, 0.0555035919, 0.240226477, 0.693147182)


def _log2(x: Value) -> tuple[Value, Value]:
    """log2(x) as a sum of two, to about 2**-35, for positive finite x."""
    f, k = parts(x)
    d = f + 2.0
    inverse = reciprocal(d)
    s = f * inverse
    s_low = (fma(-s, d, f) - s * (f - (d - 2.0))) * inverse
    z = s * s
    z_low = fma(s + s, s_low, fma(s, s, -z))
    curve = polynomial(z, _ATANH) * z
    factor = curve + _THIRD
    factor_low = (_THIRD - factor) + curve + _THIRD_LOW
    g = z * factor
    g_low = fma(z, factor_low, fma(z_low, factor, fma(z, factor, -g)))
    cube = s * g
    cube_low = fma(s, g_low, fma(s_low, g, fma(s, g, -cube)))
    high = s + cube
    low = (s - high) + cube + (cube_low + s_low)
    line = high * _SCALE
    line_low = fma(high, _SCALE, -line) + fma(high, _SCALE_LOW, low * _SCALE)
    total = k + line
    return total, (k - total) + line + line_low


def pow(x: Value, y: Value) -> Value:
    """IEEE 754's pow."""
    size = abs(x)
    high, low = _log2(size)
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    far = abs(product) > 200.0
    product = select(far, with_sign(constant_of(200.0, FLOAT), product), product)
    rest = select(far, 0.0, rest)
    k, shifted = whole(product, 1.0)
    r = (product - k) + rest
    power = scaled(fma(r, polynomial(r, _EXP2), 1.0), shifted)

    zero, infinite = size.equals(0.0), size.equals(INFINITY)
    grows = (size > 1.0).equals(y > 0.0)
    limit = select(grows, INFINITY, 0.0)
    power = select(zero | infinite | abs(y).equals(INFINITY), limit, power)
    whole_y = trunc(y).equals(y)
    half = y * 0.5
    odd = whole_y & ~trunc(half).equals(half)
    negative = (x.bits() >> 31).equals(1)
    power = select(negative & odd, -power, power)
    power = select((x < 0.0) & (size < INFINITY) & ~whole_y, _NAN, power)
    power = select(size.equals(size) & y.equals(y), power, x + y)
    one = y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & abs(y).equals(INFINITY))
    return select(one, 1.0, power)


def cbrt(x: Value) -> Value:
    """By Newton's steps for 1 / cbrt(x), which need no division."""
    a = abs(x)
    tiny = a < 2.0**-126
    a = select(tiny, a * 2.0**24, a)
    third = ((a.bits().widened() * 0x55555556) >> 32).low()
    inverse = (0x54A21D2A - third).as_float()
    for _ in range(2):
        square = inverse * inverse
        error = fma(-a * inverse, square, 1.0)
        inverse = fma(inverse * error, fma(error, 2 / 9, 1 / 3), inverse)
    root = a * (inverse * inverse)
    square = root * root
    error = fma(-square, root, a) - fma(root, root, -square) * root
    root = fma(error, inverse * inverse * (1 / 3), root)
    root = select(tiny, root * 2.0**-8, root)
    return select((a > 0.0) & (a < INFINITY), with_sign(root, x), x)
