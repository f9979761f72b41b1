"""exp, exp10, expm1, sinh, cosh and tanh of floats.

x = k * ln 2 + r (Cody and Waite, with fma), a polynomial in r, and 2**k put into the exponent.
"""

from __future__ import annotations

from dsl.lower.elementary.expression import Value, fma, minimum, polynomial, select, with_sign
from dsl.lower.elementary.quotient import reciprocal_near

MAGIC = 12582912.0  # 1.5 * 2**23: adding it leaves a number's integer in the low bits
LOG2_E = 1.44269504
LN2_HIGH, LN2_LOW = 0.693147182464599609375, -1.904654299957e-9
INFINITY = float("inf")
# of (exp(r) - 1 - r) / r**2; the longer one is relative to exp(r) - 1
EXP = (0.0013821054, 0.00836867467, 0.0416682623, 0.166665211, 0.49999994)
EXPM1 = (0.000199442715, 0.00139326707, 0.00833320804, 0.0416664891, 0.166666672, 0.5)
# of (cosh(r) - 1) / r**2 and (sinh(r) / r - 1) / r**2, in r**2; the last up to r = 1
_COSH = (0.00139354263, 0.0416664593, 0.5)
_SINH = (0.000199741044, 0.00833317544, 0.166666672)
_SINH_NEAR = (2.78392554e-06, 0.000198426351, 0.00833331142, 0.166666672)
# of (tanh(x) / x - 1) / x**2 up to 0.65, in x**2
_TANH = (-0.00552807981, 0.020482799, -0.0536928028, 0.133308977, -0.333332628)


def whole(x: Value, times: float) -> tuple[Value, Value]:
    """k = rint(x * times), and k + MAGIC, whose low bits are the integer k."""
    shifted = fma(x, times, MAGIC)
    return shifted - MAGIC, shifted


def power_of_two(shifted: Value, offset: int = 0) -> Value:
    """2 ** (k + offset) from k + MAGIC, for exponents of normal numbers."""
    return ((shifted.bits() << 23) + (127 + offset << 23)).as_float()


def scaled(x: Value, shifted: Value) -> Value:
    """x * 2**k, rounded once, for |k| <= 250: in two factors."""
    bits = shifted.bits()
    half = (bits << 22) & 0xFF800000
    rest = (bits << 23) - half
    return x * (half + 0x3F800000).as_float() * (rest + 0x3F800000).as_float()


def reduced(x: Value, k: Value) -> tuple[Value, Value]:
    """x - k * ln 2 as a sum of two."""
    first = fma(k, -LN2_HIGH, x)  # exact
    high = fma(k, -LN2_LOW, first)
    return high, fma(k, -LN2_LOW, first - high)


def exp(x: Value) -> Value:
    _, shifted = whole(x, LOG2_E)
    shifted = minimum(shifted, MAGIC + 129.0)
    k = shifted - MAGIC
    r, _ = reduced(x, k)
    power = polynomial(r, (*EXP, 1.0, 1.0))
    return select(x < -104.0, 0.0, scaled(power, shifted))


def exp10(x: Value) -> Value:
    """10 ** x."""
    k, shifted = whole(x, 3.32192802)
    first = fma(k, -0.30103001, x)  # 24 bits of log10(2); exact
    r = fma(k, 1.43209888e-8, first)
    low = fma(k, 1.43209888e-8, first - r)
    high = r * 2.30258512
    low = fma(low, 2.30258512, fma(r, -3.19754356e-8, fma(r, 2.30258512, -high)))
    power = fma(high * high, polynomial(high, EXP), low) + high
    return select(x < -46.0, 0.0, select(x > 39.0, INFINITY, scaled(power + 1.0, shifted)))


def expm1(x: Value) -> Value:
    bounded = select(x < -18.0, -18.0, select(x > 89.0, 89.0, x))
    k, shifted = whole(bounded, LOG2_E)
    r, low = reduced(bounded, k)
    rest = fma(r * r, polynomial(r, EXPM1), low)
    power = power_of_two(shifted, -1)  # of half the result
    start = power - 0.5
    high = fma(power, r, start)
    low = (power - start - 0.5) + fma(power, r, start - high)
    result = high + fma(power, rest, low)
    return select(abs(x) < 2.0**-26, x, result + result)


def _half(a: Value, odd: bool) -> Value:
    """Half of sinh(a) or cosh(a): of cosh(k ln 2) cosh(r) + sinh(k ln 2) sinh(r), or with the two exchanged."""
    a = select(a > 89.6, 89.6, a)
    k, shifted = whole(a, LOG2_E)
    r, low = reduced(a, k)
    z = r * r
    up, down = power_of_two(shifted, -2), power_of_two(2 * MAGIC - minimum(shifted, MAGIC + 60.0), -2)
    down = -down if odd else down
    even_part, odd_part = up + down, up - down
    high = fma(odd_part, r, even_part)
    rest = fma(odd_part, r, even_part - high) + (up - even_part + down)
    rest = fma(even_part, z * polynomial(z, _COSH), rest)
    return high + fma(odd_part, fma(r * z, polynomial(z, _SINH), low), rest)


def sinh(x: Value) -> Value:
    a = abs(x)
    z = a * a
    near = fma(a * z, polynomial(z, _SINH_NEAR), a)
    far = _half(a, True)
    return with_sign(select(a < 1.0, near, far + far), x)


def cosh(x: Value) -> Value:
    half = _half(abs(x), False)
    return half + half


def tanh(x: Value) -> Value:
    a = abs(x)
    z = a * a
    near = fma(a * z, polynomial(z, _TANH), a)
    twice = select(a > 10.0, 20.0, a + a)
    k, shifted = whole(twice, LOG2_E)
    r, _ = reduced(twice, k)
    power = power_of_two(shifted)
    rest = fma(r * r, polynomial(r, EXP), r)
    start = power + 1.0
    divisor = fma(power, rest, start)  # exp(2a) + 1
    near_inverse = reciprocal_near(divisor)
    error = fma(fma(power, rest, start - divisor), -near_inverse, fma(-divisor, near_inverse, 1.0))
    far = fma(-2.0, fma(near_inverse, error, near_inverse), 1.0)
    return with_sign(select(a < 0.65, near, far), x)
