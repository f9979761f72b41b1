"""log, log2, log10, log1p, asinh, acosh and atanh of floats.

x = 2**k * (1 + f), and a polynomial in f. If 1 + f is in [sqrt(1/2), sqrt(2)), a result is small only if k is 0;
in [3/4, 3/2) f is exact for log1p.
"""

from __future__ import annotations

from dsl.lower.elementary.expression import Value, below, fma, polynomial, select, sqrt, with_sign
from dsl.lower.elementary.quotient import reciprocal, reciprocal_start, root_rest

INFINITY, _NAN = float("inf"), float("nan")
_ROOT = 0x3F3504F3  # the bits of sqrt(1/2)
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.42860677e-6  # high: 16 bits, so that k * high is exact
_LOG10_2_HIGH, _LOG10_2_LOW = 0.301025390625, 4.60503907e-6
_LOG2_E_HIGH, _LOG2_E_LOW = 1.44269502162933349609375, 1.92596303e-8
_LOG10_E_HIGH, _LOG10_E_LOW = 0.4342944920063018798828125, -1.010305e-8
# of (log(1 + f) - f) / f**2 for 1 + f from 3/4 to 3/2, from sqrt(1/2) to sqrt(2), and for other bases
_LOG_ROOT = (
    -0.0776385441,
    0.129670352,
    -0.132183835,
    0.141714945,
    -0.166105583,
    0.200024381,
    -0.250015527,
    0.333333224,
    -0.499999881,
)
_LOG = (
    -0.0461757965,
    0.105830498,
    -0.131863832,
    0.144674674,
    -0.16643776,
    0.199911132,
    -0.250001937,
    0.333334476,
    -0.5,
)
_LOG2 = (
    0.0984807089,
    -0.168680757,
    0.171218157,
    -0.178971171,
    0.205178291,
    -0.240462646,
    0.288567722,
    -0.360674381,
    0.480898082,
    -0.721347511,
)
_LOG10 = (
    -0.0340116844,
    0.0564095676,
    -0.0573124625,
    0.0615207814,
    -0.0721499994,
    0.0868716389,
    -0.108579762,
    0.144764721,
    -0.217147201,
)
# of (asinh(x) / x - 1) / x**2 and (atanh(x) / x - 1) / x**2 up to 1/2, in x**2
_ASINH = (-0.0132140573, 0.0281569306, -0.0443824008, 0.0749863833, -0.166666433)
_ATANH = (0.177306116, 0.0509015247, 0.118363626, 0.14221175, 0.20002605, 0.333332986)
# of (acosh(1 + t) / sqrt(2 t) - 1) / t up to 1/2
_ACOSH = (-0.000412939233, 0.00175980816, -0.0055478001, 0.0187465958, -0.0833332166)


def mantissa(x: Value, start: int = 0x3F400000) -> tuple[Value, Value]:
    """f and the bits k << 23, for normal positive x; `start` are the bits of the least 1 + f."""
    bits = x.bits()
    exponent = (bits - start) & 0xFF800000
    return (bits - exponent).as_float() - 1.0, exponent


def parts(x: Value) -> tuple[Value, Value]:
    """f and k, for positive finite x."""
    tiny = x < 2.0**-126
    f, exponent = mantissa(select(tiny, x * 2.0**23, x), _ROOT)
    return f, fma(exponent.number(), 2.0**-23, select(tiny, -23.0, 0.0))


def log_of(f: Value, k: Value, rest: Value | None = None, coefficients: tuple = _LOG) -> Value:
    """k * ln 2 + log(1 + f) + rest, a `rest` below an ulp."""
    high = fma(k, _LN2_HIGH, f)
    low = f + fma(k, _LN2_HIGH, -high)
    curve = polynomial(f, coefficients) * (f * f)
    low = low + curve if rest is None else low + (curve + rest)
    return high + fma(k, _LN2_LOW, low)


def _special(x: Value, result: Value) -> Value:
    """`result` where x is positive and finite."""
    other = select(x.equals(0.0), -INFINITY, fma(x, INFINITY, INFINITY))
    return select(below(x.bits() - 1, 0x7F7FFFFF), result, other)


def log(x: Value) -> Value:
    return _special(x, log_of(*parts(x), coefficients=_LOG_ROOT))


def log2(x: Value) -> Value:
    f, k = parts(x)
    line = f * _LOG2_E_HIGH
    rest = fma(polynomial(f, _LOG2), f * f, fma(f, _LOG2_E_LOW, fma(f, _LOG2_E_HIGH, -line)))
    high = k + line
    return _special(x, high + (k - high + line + rest))


def log10(x: Value) -> Value:
    f, k = parts(x)
    line = f * _LOG10_E_HIGH
    rest = fma(polynomial(f, _LOG10), f * f, fma(f, _LOG10_E_LOW, fma(f, _LOG10_E_HIGH, -line)))
    high = fma(k, _LOG10_2_HIGH, line)
    low = line + fma(k, _LOG10_2_HIGH, -high)
    return _special(x, high + fma(k, _LOG10_2_LOW, low + rest))


def log1p(x: Value) -> Value:
    _, exponent = mantissa(x + 1.0)
    scale = (0x40800000 - exponent).as_float()  # 2 ** (2 - k)
    f = fma(x * 0.25, scale, fma(scale, 0.25, -1.0))  # exact
    result = log_of(f, exponent.number() * 2.0**-23)
    other = select(x.equals(-1.0), -INFINITY, fma(x, INFINITY, INFINITY))
    result = select((x > -1.0) & (x < INFINITY), result, other)
    return select(abs(x) < 2.0**-25, x, result)


# --- inverse hyperbolic functions ------------------------------------------------------------------------------------


def _log_of_sum(high: Value, low: Value, large: Value | None = None, x: Value | None = None) -> Value:
    """log(high + low); where `x` is `large`, log(2 x)."""
    rest = low * reciprocal_start(high)
    if large is not None:
        high, rest = select(large, x, high), select(large, 0.0, rest)
    f, exponent = mantissa(high)
    k = exponent.number() * 2.0**-23
    return log_of(f, k if large is None else k + select(large, 1.0, 0.0), rest)


def _root(square: Value, low: Value) -> tuple[Value, Value]:
    """sqrt(square + low) as a sum of two."""
    root = sqrt(square)
    start = reciprocal_start(root, 1)
    return root, (fma(-root, root, square) + low) * fma(start, fma(-root - root, start, 1.0), start)


def asinh(x: Value) -> Value:
    a = abs(x)
    z = a * a
    near = fma(a * z, polynomial(z, _ASINH), a)
    square = fma(a, a, 1.0)
    root, low = _root(square, fma(a, a, 1.0 - square))
    total = a + root
    low = (root - total) + a + low
    large = a > 4096.0
    far = _log_of_sum(total, low, large, a)
    far = select(a < INFINITY, far, a)
    return with_sign(select(a < 0.5, near, far), x)


def acosh(x: Value) -> Value:
    t = x - 1.0
    twice = t + t
    root = sqrt(twice)
    near = root + fma(root * t, polynomial(t, _ACOSH), root_rest(root, twice))
    product = x * x
    square = product - 1.0
    root, low = _root(square, (product - square) - 1.0 + fma(x, x, -product))
    total = x + root
    low = (x - total) + root + low
    large = x > 4096.0
    far = _log_of_sum(total, low, large, x)
    far = select(x < INFINITY, far, x)
    near = select(t.equals(0.0), 0.0, near)
    return select(x < 1.5, near, far)


def atanh(x: Value) -> Value:
    a = abs(x)
    z = a * a
    near = fma(a * z, polynomial(z, _ATANH), a)
    above, under = a + 1.0, 1.0 - a
    inverse = reciprocal(under)
    ratio = above * inverse
    low = (fma(-ratio, under, above) + (a - (above - 1.0))) * inverse
    far = _log_of_sum(ratio, low) * 0.5
    far = select(a < 1.0, far, select(a.equals(1.0), INFINITY, _NAN))
    return with_sign(select(a < 0.5, near, far), x)
