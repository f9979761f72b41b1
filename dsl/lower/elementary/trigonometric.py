"""sin, cos, tan, asin, acos, atan and atan2 of floats."""

from __future__ import annotations

from dsl.lower.elementary.exponential import whole
from dsl.lower.elementary.expression import (
    FLOAT,
    INT,
    Function,
    Value,
    constant_of,
    fma,
    funnel,
    minimum,
    polynomial,
    select,
    sqrt,
    with_sign,
)
from dsl.lower.elementary.quotient import reciprocal, reciprocal_near, reciprocal_start, root_rest

# pi / 2 in three parts: 24 bits, 12 bits, 24 bits
_PARTS = (1.57079625129699707, 7.54953362047672272e-8, 2.56334406825708960e-12)
FAR = 6000.0
_HALF_PI, _HALF_PI_LOW = 1.57079637050628662, -4.37113883e-8
# 32 zeros, then the bits of 2 / pi
_TWO_OVER_PI = (0x0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)
# of (sin(r) / r - 1) / r**2 and (cos(r) - 1) / r**2 up to pi / 4, (tan(r) / r - 1) / r**2, in r**2
_SIN = (0.0, -0.000195186047, 0.00833219104, -0.166666552)
_COS = (2.44323273e-05, -0.00138873095, 0.0416666456, -0.5)
_TAN = (0.0044418294, -4.61868804e-05, 0.0109455436, 0.0212386101, 0.0540686511, 0.13332583, 0.333333522)
# of (asin(x) / x - 1) / x**2 up to 1/2, (atan(x) / x - 1) / x**2 up to 1, in x**2
_ASIN = (0.0422198214, 0.0241481233, 0.0454766601, 0.0749524906, 0.166667536)
_ATAN = (
    -0.00181873341,
    0.0110290246,
    -0.0313945226,
    0.058178097,
    -0.084164612,
    0.109566577,
    -0.142650917,
    0.199986264,
    -0.333333015,
)


def _near(x: Value) -> tuple[Value, Value, Value]:
    """r and its rest, and q, with x = r + q * pi / 2 and |r| <= pi / 4, for |x| <= FAR."""
    k, shifted = whole(x, 0.636619747)
    first = fma(k, -_PARTS[0], x)  # exact
    r = fma(k, -_PARTS[1], first)
    return r, fma(k, -_PARTS[2], fma(k, -_PARTS[1], first - r)), shifted.bits()


def _far(x: Value) -> tuple[Value, Value, Value]:
    """The same of |x| above FAR.  Payne and Hanek: only those bits of 2 / pi that can matter are multiplied."""
    bits = x.bits() & 0x7FFFFFFF
    start = (bits >> 23) - 120  # of the window's first bit, whose weight is 2
    index = start >> 5
    steps = [index.equals(step) for step in range(4)]
    words = []
    for place in range(4):
        word = constant_of(_TWO_OVER_PI[4 + place], INT)
        for step in (3, 2, 1, 0):
            word = select(steps[step], _TWO_OVER_PI[step + place], word)
        words.append(word)
    window = [funnel(high, low, start & 31) for high, low in zip(words, words[1:])]
    factor = ((bits & 0x7FFFFF) | 0x800000).widened()
    top, middle, low = (factor * word.widened() for word in window)
    product = (top << 32) + middle + (low >> 32)  # of pi / 2, modulo 4, in units of 2**-62
    q = (product + (1 << 61)) >> 62
    return *(product - (q << 62)).times(1.5707963267948966 * 2.0**-62), q.low()


def _chosen(x: Value, q: Value, r: Value, low: Value, turn: int) -> Value:
    """sin(r + low + (q + turn) * pi / 2)."""
    if turn:
        q = q + turn
    odd = (q & 1).equals(1)
    z = r * r
    curve = polynomial(z, tuple(select(odd, *pair) for pair in zip(_COS, _SIN)))
    start = select(odd, 1.0, r)
    rest = select(odd, fma(r + r, low, fma(r, r, -z)) * -0.5, low)
    result = start + fma(select(odd, z, z * r), curve, rest)
    return (result.bits() ^ ((q << 30) & 0x80000000)).as_float()


def _tangent(q: Value, r: Value, low: Value) -> Value:
    z = r * r
    cube, cube_low = _cube(r, z)
    low = fma(cube_low, 0.44, fma(low, fma(z, z, z), low))  # z + z * z is about tan(r)**2
    rest = fma(cube, polynomial(z, _TAN), low)
    tangent = r + rest
    low = (r - tangent) + rest
    size = abs(tangent)
    inverse = with_sign(reciprocal_near(size), tangent)
    error = fma(-inverse, tangent, 1.0)
    inverse = -fma(inverse, fma(-inverse, low, error), inverse)
    return select((q & 1).equals(1), inverse, tangent)


def _cube(x: Value, z: Value) -> tuple[Value, Value]:
    """x * x * x as a sum of two; `z` is the rounded square."""
    cube = x * z
    return cube, fma(x, fma(x, x, -z), fma(x, z, -cube))


def _split(name: str, x: Value, result) -> Function:
    """A function whose large arguments are reduced in a separate function."""
    far_x = Value("operand", (), FLOAT)
    r, low, q = _far(far_x)
    sign = far_x.bits() & 0x80000000
    r, low = (r.bits() ^ sign).as_float(), (low.bits() ^ sign).as_float()
    q = select(sign.equals(0), q, -q)
    far = select(abs(far_x) < float("inf"), result(far_x, q, r, low), far_x - far_x)
    r, low, q = _near(x)
    return Function(name, (x,), result(x, q, r, low), ~(abs(x) <= FAR), Function(name + "_far", (far_x,), far))


def sin(x: Value) -> Function:
    return _split("sin", x, lambda x, q, r, low: select(x.equals(0.0), x, _chosen(x, q, r, low, 0)))


def cos(x: Value) -> Function:
    return _split("cos", x, lambda x, q, r, low: _chosen(x, q, r, low, 1))


def tan(x: Value) -> Function:
    return _split("tan", x, lambda x, q, r, low: select(x.equals(0.0), x, _tangent(q, r, low)))


# --- inverse functions -----------------------------------------------------------------------------------------------


def _folded(base: Value, base_low: float | Value, x: Value, low: Value, z: Value, coefficients: tuple) -> Value:
    """base + base_low + low + x * (1 + z * polynomial(z)), where base is 0 or above |x|."""
    high = base + x
    low = base - high + x + (base_low + low)
    return high + fma(x * z, polynomial(z, coefficients), low)


def _arc(base: Value, base_low: Value, t: Value, low: Value) -> Value:
    """base + base_low + atan(t + low), where base is 0 or above |t| <= 1."""
    z = t * t
    cube, cube_low = _cube(t, z)
    high = base + t
    low = fma(cube_low, -0.215, fma(low, fma(z, -0.5, 1.0), base_low))
    low = base - high + t + low
    return high + fma(cube, polynomial(z, _ATAN), low)


def asin(x: Value) -> Value:
    a = abs(x)
    large = a > 0.5
    half = fma(a, -0.5, 0.5)
    root = sqrt(half)
    z, v = select(large, half, a * a), select(large, root * -2.0, a)
    low = select(large, fma(root_rest(root, half), -2.0, _HALF_PI_LOW), 0.0)
    return with_sign(_folded(select(large, _HALF_PI, 0.0), 0.0, v, low, z, _ASIN), x)


def acos(x: Value) -> Value:
    a = abs(x)
    large, negative = a > 0.5, x < 0.0
    half = fma(a, -0.5, 0.5)
    root = sqrt(half)
    z = select(large, half, x * x)
    twice = select(negative, -2.0, 2.0)
    v = select(large, root * twice, -x)
    low = select(large, root_rest(root, half) * twice, 0.0)
    base = select(large, select(negative, 2 * _HALF_PI, 0.0), _HALF_PI)
    base_low = select(large, select(negative, 2 * _HALF_PI_LOW, 0.0), _HALF_PI_LOW)
    return _folded(base, base_low, v, low, z, _ASIN)


def atan(x: Value) -> Value:
    a = abs(x)
    large = a > 1.0
    divisor = minimum(a, 2.0**100)
    inverse = reciprocal(divisor)
    low = select(large, -inverse * fma(-inverse, divisor, 1.0), 0.0)
    t = select(large, -inverse, a)
    return with_sign(_arc(select(large, _HALF_PI, 0.0), select(large, _HALF_PI_LOW, 0.0), t, low), x)


def atan2(y: Value, x: Value) -> Value:
    a, b = abs(y), abs(x)
    steep = a > b
    large, small = select(steep, a, b), select(steep, b, a)
    scale = select(large > 2.0**90, 2.0**-64, select(large < 2.0**-40, 2.0**64, 1.0))
    large, small = large * scale, small * scale
    t = small / large
    low = fma(-t, large, small) * reciprocal_start(large)
    low = select(large < float("inf"), low, 0.0)
    equal = small.equals(large)
    t, low = select(equal, select(large.equals(0.0), 0.0, 1.0), t), select(equal, 0.0, low)
    left = (x.bits() >> 31).equals(1)
    backwards = select(steep, ~left, left)
    t, low = select(backwards, -t, t), select(backwards, -low, low)
    base = select(steep, _HALF_PI, select(left, 2 * _HALF_PI, 0.0))
    base_low = select(steep, _HALF_PI_LOW, select(left, 2 * _HALF_PI_LOW, 0.0))
    result = with_sign(_arc(base, base_low, t, low), y)
    return select((x.equals(x)) & (y.equals(y)), result, x + y)
