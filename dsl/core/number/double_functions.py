"""Elementary functions of doubles from multiplications and additions: what a GPU has no instruction for.

Those of floats are in dsl/lower/elementary.

Each takes and gives Float64. Reductions follow Cody and Waite, with fma, and Payne and Hanek for large angles;
polynomials are Taylor polynomials, or near-minimax (Chebyshev) in the even part of the argument, to a relative error
under 2e-17.
tests/core/number/test_double_functions.py measures every function against mpmath: within 3 ulp.
"""

from __future__ import annotations

import math

from dsl.core import trace
from dsl.core.ir import arithmetic, mlir
from dsl.core.number.double_coefficients import (
    ASIN,
    ATAN,
    COS,
    ERF,
    ERFC,
    EXP,
    HALF_PI,
    HALF_PI_LOW,
    HALF_PI_PARTS,
    INFINITY,
    LN2_HIGH,
    LN2_LOW,
    LOG,
    LOG10_2_HIGH,
    LOG10_2_LOW,
    PI,
    SIN,
    TWO_OVER_PI,
)
from dsl.core.number.dtypes import Boolean, Float64, Int32, Int64, Uint64
from dsl.core.number.integer_power import loop

# --- pieces ----------------------------------------------------------------------------------------------------------


def fma(a, b, c) -> Float64:
    """a * b + c, rounded once."""
    return Float64(mlir.intrinsic("llvm.fma.f64", mlir.f64, *(Float64(v).ir() for v in (a, b, c))))


def select(condition: Boolean, a, b) -> Float64:
    return Float64(arithmetic.select(condition.ir(), Float64(a).ir(), Float64(b).ir()))


def _unary(name: str, x: Float64) -> Float64:
    return Float64(mlir.intrinsic(f"llvm.{name}.f64", mlir.f64, x.ir()))


def sqrt(x: Float64) -> Float64:
    return _unary("sqrt", x)


def _polynomial(x: Float64, coefficients: tuple) -> Float64:
    """Horner's rule, the highest power first."""
    result = Float64(coefficients[0])
    for coefficient in coefficients[1:]:
        result = fma(result, x, coefficient)
    return result


def with_sign(x: Float64, sign: Float64) -> Float64:
    """|x| with the sign of `sign`."""
    return Float64(mlir.intrinsic("llvm.copysign.f64", mlir.f64, x.ir(), sign.ir()))


def _power_of_two(exponent: Int64) -> Float64:
    """2 ** exponent, for exponents of normal numbers."""
    return ((exponent + 1023) << 52).bitcast(Float64)


def _scale(x: Float64, exponent: Int64) -> Float64:
    """x * 2 ** exponent, rounded once at the most, for |exponent| < 2000."""
    half = exponent >> 1
    return x * _power_of_two(half) * _power_of_two(exponent - half)


def _to_int(x: Float64) -> Int64:
    return Int64(x)


# --- exponentials ----------------------------------------------------------------------------------------------------


def _reduced(x: Float64) -> tuple[Float64, Int64]:
    """r and k with x = r + k * ln 2 and |r| <= ln 2 / 2, x kept where exp neither overflows nor vanishes."""
    x = select(x > 711.0, 711.0, select(x < -747.0, -747.0, x))
    k = _unary("rint", x * 1.4426950408889634)
    return fma(-k, LN2_LOW, fma(-k, LN2_HIGH, x)), _to_int(k)


def exp(x: Float64) -> Float64:
    r, k = _reduced(x)
    return _scale(fma(r * r, _polynomial(r, EXP), r) + 1.0, k)


def exp2(x: Float64) -> Float64:
    """2 ** x: the whole part is exact."""
    x = select(x > 1100.0, 1100.0, select(x < -1100.0, -1100.0, x))
    k = _unary("rint", x)
    part = x - k
    r = part * LN2_HIGH
    r = r + fma(part, LN2_HIGH, -r) + part * LN2_LOW
    return _scale(fma(r * r, _polynomial(r, EXP), r) + 1.0, _to_int(k))


def expm1(x: Float64) -> Float64:
    r, k = _reduced(x)
    small = fma(r * r, _polynomial(r, EXP), r)
    power = _power_of_two(k)
    near = fma(small, power, power - 1.0)
    near = select(k == 0, small, near)
    return select(x > 40.0, exp(x), select(x < -45.0, -1.0, select(x == 0.0, x, near)))


def _log_parts(x: Float64) -> tuple[Float64, Float64]:
    """f and k with x = (1 + f) * 2 ** k, 1 + f in [sqrt(1/2), sqrt(2))."""
    tiny = x < 2.2250738585072014e-308
    bits = select(tiny, x * 2.0**54, x).bitcast(Int64)
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    mantissa = (bits - (k << 52)).bitcast(Float64)
    return mantissa - 1.0, Float64(k) - select(tiny, 54.0, 0.0)


def _log_special(x: Float64, result: Float64) -> Float64:
    """`result` where x is positive and finite."""
    result = select(x < INFINITY, result, x)
    return select(x > 0.0, result, select(x == 0.0, -INFINITY, select(x < 0.0, math.nan, x)))


def _log_1p(f: Float64) -> tuple[Float64, Float64]:
    """log(1 + f) as f - a + b."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    return half_square, s * (half_square + z * _polynomial(z, LOG))


def log(x: Float64) -> Float64:
    f, k = _log_parts(x)
    a, b = _log_1p(f)
    return _log_special(x, fma(k, LN2_HIGH, f - (a - (b + k * LN2_LOW))))


def log2(x: Float64) -> Float64:
    f, k = _log_parts(x)
    high, low = _log_pair(f)
    scaled = high * 1.4426950408889634
    rest = fma(high, 1.4426950408889634, -scaled) + fma(high, 2.0355273740931033e-17, low * 1.4426950408889634)
    return _log_special(x, k + (scaled + rest))


def log10(x: Float64) -> Float64:
    f, k = _log_parts(x)
    high, low = _log_pair(f)
    scaled = high * 0.4342944819032518
    rest = fma(high, 0.4342944819032518, -scaled) + fma(high, 1.098319650216765e-17, low * 0.4342944819032518)
    return _log_special(x, fma(k, LOG10_2_HIGH, scaled + (rest + k * LOG10_2_LOW)))


def log1p(x: Float64) -> Float64:
    u = x + 1.0
    rest = (x - (u - 1.0)) / u
    finite = (u > 0.0) & (u < INFINITY)
    return select(x == 0.0, x, log(u) + select(finite, rest, 0.0))


def _log_pair(f: Float64) -> tuple[Float64, Float64]:
    """log(1 + f) as a sum of two, to about 2**-60."""
    d = f + 2.0
    d_low = f - (d - 2.0)
    s = f / d
    s_low = fma(-s, d_low, fma(-s, d, f)) / d
    z = s * s
    rest = fma(s * z, _polynomial(z, LOG), s_low * 2.0)
    high = s * 2.0 + rest
    return high, s * 2.0 - high + rest


def pow(x: Float64, y: Float64) -> Float64:
    """IEEE 754's pow."""
    size = abs(x)
    f, k = _log_parts(size)
    part, part_low = _log_pair(f)
    whole = k * LN2_HIGH
    high = whole + part
    low = select(abs(whole) > abs(part), whole - high + part, part - high + whole) + (part_low + k * LN2_LOW)
    total = high + low
    high, low = total, high - total + low
    special = (size == 0.0) | (size == INFINITY) | (abs(y) == INFINITY)
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    bounded = select(abs(product) < 800.0, product, with_sign(Float64(800.0), product))
    power = exp(bounded)
    power = select((power < INFINITY) & (power > 0.0), fma(power, rest, power), power)
    power = select(special, exp(y * _log_special(size, high)), power)
    whole_y = _unary("trunc", y) == y
    odd = whole_y & (_unary("trunc", y * 0.5) != y * 0.5)
    negative = x.bitcast(Int64) < 0
    power = select(negative & odd, -power, power)
    power = select((x < 0.0) & (size < INFINITY) & ~whole_y, math.nan, power)
    power = select((x != x) | (y != y), x + y, power)
    return select((y == 0.0) | (x == 1.0) | (x == -1.0) & (abs(y) == INFINITY), 1.0, power)


def cbrt(x: Float64) -> Float64:
    """By the logarithm, then one step of Newton's method."""
    tiny = abs(x) < 1e-280
    size = abs(x) * select(tiny, 2.0**162, 1.0)
    y = exp(log(size) / 3.0)
    square = y * y
    error = fma(square, y, -size) + fma(y, y, -square) * y
    y = (y - error / (square * 3.0)) * select(tiny, 2.0**-54, 1.0)
    return select((size > 0.0) & (size < INFINITY), with_sign(y, x), x)


# --- hyperbolic functions --------------------------------------------------------------------------------------------


def sinh(x: Float64) -> Float64:
    a = abs(x)
    t = expm1(a)
    e = exp(a * 0.5)
    return with_sign(select(a > 40.0, e * 0.5 * e, (t + t / (t + 1.0)) * 0.5), x)


def cosh(x: Float64) -> Float64:
    a = abs(x)
    e, half = exp(a), exp(a * 0.5)
    return select(a > 40.0, half * 0.5 * half, e * 0.5 + 0.5 / e)


def tanh(x: Float64) -> Float64:
    a = abs(x)
    t = expm1(select(a > 22.0, 22.0, a) * 2.0)
    return with_sign(select(a != a, a, t / (t + 2.0)), x)


def asinh(x: Float64) -> Float64:
    a = abs(x)
    near = log1p(a + a * a / (sqrt(fma(a, a, 1.0)) + 1.0))
    return with_sign(select(a > 1e9, log(a) + 0.6931471805599453, near), x)


def acosh(x: Float64) -> Float64:
    t = x - 1.0
    near = log1p(t + sqrt(fma(t, t, t * 2.0)))
    return select(x > 1e9, log(x) + 0.6931471805599453, select(x < 1.0, math.nan, near))


def atanh(x: Float64) -> Float64:
    a = abs(x)
    return with_sign(log1p(a * 2.0 / (1.0 - a)) * 0.5, x)


# --- trigonometric functions -----------------------------------------------------------------------------------------


def _quadrant(x: Float64) -> tuple[Float64, Int32]:
    """r and q with x = r + q * pi / 2 (q modulo 4) and |r| <= pi / 4."""
    near = abs(x) < 1647099.0  # pi / 2 * 2**20: the product with 33 bits of pi / 2 is exact
    branch = mlir.op("scf.if", [mlir.f64, mlir.i32], [near.ir()], regions=2)
    for region, reduce in zip(branch.regions, (_quadrant_near, _quadrant_far)):
        with mlir.inside(region.blocks.append()):
            r, q = reduce(x)
            mlir.op("scf.yield", [], [r.ir(), q.ir()])
    return Float64(branch.results[0]), Int32(branch.results[1])


def _quadrant_near(x: Float64) -> tuple[Float64, Int32]:
    q = _unary("rint", x * 0.6366197723675814)
    r = x
    for part in HALF_PI_PARTS:
        r = fma(-q, part, r)
    return r, Int32(q) & 3


def _quadrant_far(x: Float64) -> tuple[Float64, Int32]:
    """Payne and Hanek: only those bits of 2 / pi that can matter are multiplied."""
    bits = x.bitcast(Int64)
    exponent = ((bits >> 52) & 0x7FF) - 1075  # of the last bit of the mantissa
    mantissa = Uint64((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000)
    offset = exponent + 62  # 64 zeros precede the bits of 2 / pi
    index, shift = offset >> 6, offset & 63
    words = [_word_of_two_over_pi(index + i) for i in range(4)]
    window = [mlir.intrinsic("llvm.fshl.i64", mlir.i64, a.ir(), b.ir(), shift.ir()) for a, b in zip(words, words[1:])]
    factor = _extended(mantissa.ir())
    top, middle, low = (mlir.result("arith.muli", mlir.i128, factor, _extended(word)) for word in window)

    def shifted(name: str, value, amount: int):
        return mlir.result(name, mlir.i128, value, mlir.constant(amount, mlir.i128))

    def add(a, b):
        return mlir.result("arith.addi", mlir.i128, a, b)

    product = add(add(shifted("arith.shli", top, 64), middle), shifted("arith.shrui", low, 64))
    half = shifted("arith.shli", mlir.constant(1, mlir.i128), 125)
    q = shifted("arith.shrui", add(product, half), 126)
    part = mlir.result("arith.subi", mlir.i128, product, shifted("arith.shli", q, 126))
    high = Int64(mlir.result("arith.trunci", mlir.i64, shifted("arith.shrsi", part, 64)))
    rest = Uint64(mlir.result("arith.trunci", mlir.i64, part))
    turns = fma(Float64(rest), 2.0**-126, Float64(high) * 2.0**-62)
    r = with_sign(turns * HALF_PI, turns)
    q = Int32(mlir.result("arith.trunci", mlir.i32, q))
    negative = bits < 0
    finite = ((bits >> 52) & 0x7FF) != 0x7FF
    r = select(finite, select(negative, -r, r), math.nan)
    return r, Int32(arithmetic.select(negative.ir(), (-q).ir(), q.ir())) & 3


def _extended(value) -> mlir.Value:
    return mlir.result("arith.extui", mlir.i128, value)


def _word_of_two_over_pi(index: Int64) -> Uint64:
    module = trace.kernel().module
    # past the table's end only for infinities and NaNs, whose result is replaced
    last = len(TWO_OVER_PI) - 1
    index = Int64(arithmetic.select((index > last).ir(), Int64(last).ir(), index.ir()))
    words = ", ".join(str(word - (word >> 63 << 64)) for word in TWO_OVER_PI)
    count = len(TWO_OVER_PI)
    module.declare(
        "two_over_pi",
        "llvm.mlir.global internal constant "
        f"@two_over_pi(dense<[{words}]> : tensor<{count}xi64>) "
        f"{{addr_space = 1 : i32}} : !llvm.array<{count} x i64>",
    )
    table = mlir.op("llvm.mlir.addressof", [mlir.ptr(1)], [], {"global_name": mlir.symbol_attr("two_over_pi")}).results[
        0
    ]
    return Uint64(mlir.load(mlir.gep(table, mlir.i64, index.ir()), mlir.i64, 8))


def _sin_cos_reduced(r: Float64) -> tuple[Float64, Float64]:
    z = r * r
    sine = fma(r * z, _polynomial(z, SIN), r)
    half = z * 0.5
    w = 1.0 - half
    cosine = w + ((1.0 - w - half) + z * z * _polynomial(z, COS))
    return sine, cosine


def sincos(x: Float64) -> tuple[Float64, Float64]:
    """The sine and the cosine."""
    r, q = _quadrant(x)
    sine, cosine = _sin_cos_reduced(r)
    swapped = (q & 1) != 0
    s, c = select(swapped, cosine, sine), select(swapped, sine, cosine)
    return select(x == 0.0, x, select((q & 2) != 0, -s, s)), select(((q + 1) & 2) != 0, -c, c)


def sin(x: Float64) -> Float64:
    return sincos(x)[0]


def cos(x: Float64) -> Float64:
    return sincos(x)[1]


def tan(x: Float64) -> Float64:
    r, q = _quadrant(x)
    sine, cosine = _sin_cos_reduced(r)
    swapped = (q & 1) != 0
    return select(x == 0.0, x, select(swapped, -cosine, sine) / select(swapped, sine, cosine))


def _asin_half(x: Float64, z: Float64) -> Float64:
    """asin(x) for |x| <= 1/2, z = x * x."""
    return fma(x * z, _polynomial(z, ASIN), x)


def asin(x: Float64) -> Float64:
    a = abs(x)
    w = (1.0 - a) * 0.5
    root = sqrt(w)
    large = HALF_PI - (_asin_half(root, w) * 2.0 - HALF_PI_LOW)
    return with_sign(select(a > 0.5, large, _asin_half(a, a * a)), x)


def acos(x: Float64) -> Float64:
    a = abs(x)
    w = (1.0 - a) * 0.5
    large = _asin_half(sqrt(w), w) * 2.0
    large = select(x < 0.0, PI - (large - HALF_PI_LOW * 2.0), large)
    return select(a > 0.5, large, HALF_PI - (_asin_half(x, x * x) - HALF_PI_LOW))


def _atan_ratio(t: Float64) -> Float64:
    """atan(t) for t in [0, 1]."""
    large = t > 0.41421356237309503
    t = select(large, (t - 1.0) / (t + 1.0), t)
    z = t * t
    part = fma(t * z, _polynomial(z, ATAN), t)
    return select(large, part + HALF_PI_LOW * 0.5 + HALF_PI * 0.5, part)


def atan(x: Float64) -> Float64:
    a = abs(x)
    inverse = a > 1.0
    part = _atan_ratio(select(inverse, 1.0 / a, a))
    return with_sign(select(inverse, HALF_PI - (part - HALF_PI_LOW), part), x)


def atan2(y: Float64, x: Float64) -> Float64:
    a, b = abs(y), abs(x)
    steep = a > b
    ratio = select(steep, b, a) / select(steep, a, b)
    ratio = select((a == b) & (a == a), select(a == 0.0, 0.0, 1.0), ratio)
    part = _atan_ratio(ratio)
    part = select(steep, HALF_PI - (part - HALF_PI_LOW), part)
    part = select(x.bitcast(Int64) < 0, PI - (part - HALF_PI_LOW * 2.0), part)
    return select((x != x) | (y != y), x + y, with_sign(part, y))


# --- error functions -------------------------------------------------------------------------------------------------


def _erfc_positive(a: Float64) -> Float64:
    bounded = select(a > 27.5, 27.5, a)
    square = bounded * bounded
    scaled = _polynomial((bounded - 4.0) / (bounded + 4.0), ERFC) / (bounded * 2.0 + 1.0)
    e = exp(-square)
    return fma(e, -fma(bounded, bounded, -square), e) * scaled


def erf(x: Float64) -> Float64:
    a = abs(x)
    return with_sign(select(a < 1.0, a * _polynomial(a * a, ERF), 1.0 - _erfc_positive(a)), x)


def erfc(x: Float64) -> Float64:
    a = abs(x)
    small = 1.0 - x * _polynomial(x * x, ERF)
    far = _erfc_positive(a)
    return select(a < 0.5, small, select(x < 0.0, 2.0 - far, far))


# --- remainder -------------------------------------------------------------------------------------------------------


def fmod(x: Float64, y: Float64) -> Float64:
    """x - y * trunc(x / y), exactly: long division of the mantissas, 11 bits a step."""
    a, b = abs(x), abs(y)
    (ma, ea), (mb, eb) = _mantissa(a), _mantissa(b)
    valid = (b > 0.0) & (a < INFINITY) & (b == b)
    mb = Uint64(arithmetic.select(valid.ir(), mb.ir(), Uint64(1).ir()))
    steps = Int64(arithmetic.select((valid & (a >= b)).ir(), (ea - eb).ir(), Int64(0).ir()))

    def body(rest, left):
        count = arithmetic.binary("min", left, mlir.constant(11, mlir.i64), True)
        shifted = mlir.result("arith.shli", mlir.i64, rest, count)
        return mlir.result("arith.remui", mlir.i64, shifted, mb.ir()), arithmetic.binary("sub", left, count, True)

    start = mlir.result("arith.remui", mlir.i64, ma.ir(), mb.ir())
    rest = loop(
        [start, steps.ir()], lambda _, left: arithmetic.compare("gt", left, mlir.constant(0, mlir.i64), True), body
    )[0]
    half = eb >> 1  # 2**eb may be subnormal: in two factors, both exact
    remainder = Float64(Uint64(rest)) * _power_of_two(half) * _power_of_two(eb - half)
    result = select(valid, with_sign(select(a < b, a, remainder), x), math.nan)
    return select((x != x) | (y != y), x + y, result)


def _mantissa(a: Float64) -> tuple[Uint64, Int64]:
    """m and e with a = m * 2**e, m < 2**53."""
    bits = a.bitcast(Int64)
    field = bits >> 52
    normal = field != 0
    implicit = Int64(arithmetic.select(normal.ir(), Int64(1 << 52).ir(), Int64(0).ir()))
    exponent = Int64(arithmetic.select(normal.ir(), field.ir(), Int64(1).ir())) - 1075
    return Uint64((bits & 0xFFFFFFFFFFFFF) | implicit), exponent
