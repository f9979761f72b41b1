"""erf and erfc of floats."""

from __future__ import annotations

from dsl.lower.elementary.exponential import EXP, EXPM1, LOG2_E, power_of_two, reduced, scaled, whole
from dsl.lower.elementary.expression import Value, fma, polynomial, select, with_sign
from dsl.lower.elementary.quotient import reciprocal

_SLOPE, _SLOPE_LOW = 1.12837923, -5.86353834e-08  # 2 / sqrt(pi)
# of (erf(x) / x - 2 / sqrt(pi)) / x**2, in x**2, up to 0.85 and up to 0.65
_ERF = (-0.000635015778, 0.00505834213, -0.026807921, 0.112828881, -0.376125932)
_ERF_NEAR = (-0.000714091933, 0.00515876338, -0.026852224, 0.112836607, -0.376126349)
# of -log(erfc(x)) from 0.85 to 4
_DECAY = (-0.000203048956, 0.00311213359, -0.0224980395, 0.1044861, 0.636560023, 1.12803912, 0.000109230197)
# of exp(x**2) * erfc(x) * (1 + 2 * x), in (x - 2) / (x + 1/2)
_ERFC = (
    1.56061742e-05,
    -2.93913172e-06,
    -0.000243161427,
    -0.000616639911,
    -0.000347057678,
    0.00172312628,
    0.00580520788,
    0.00636789296,
    -0.0167447049,
    -0.086597167,
    -0.0579773635,
    1.27697837,
)


def erf(x: Value) -> Value:
    a = abs(x)
    z = a * a
    near = fma(a, _SLOPE, a * fma(z, polynomial(z, _ERF), _SLOPE_LOW))
    bounded = select(a > 4.0, 4.0, a)
    slope = -polynomial(bounded, _DECAY[:-1])
    decay = fma(slope, bounded, -_DECAY[-1])
    k, shifted = whole(decay, LOG2_E)
    r, _ = reduced(decay, k)
    r = r + (fma(slope, bounded, -decay) - _DECAY[-1])
    far = fma(polynomial(r, (*EXP, 1.0, 1.0)), -power_of_two(shifted), 1.0)
    return with_sign(select(a < 0.85, near, far), x)


def erfc(x: Value) -> Value:
    z = x * x
    line = x * _SLOPE
    start = 1.0 - line
    rest = fma(x, fma(z, polynomial(z, _ERF_NEAR), _SLOPE_LOW), fma(x, _SLOPE, -line))
    near = start + ((1.0 - start) - line - rest)

    a = abs(x)
    a = select(a > 10.25, 10.25, a)
    divisor = fma(a, 2.0, 1.0)
    divisor_low = fma(a, 2.0, 1.0 - divisor)
    inverse = reciprocal(divisor)
    t = fma(a, 2.0, -4.0) * inverse
    curve = polynomial(t, _ERFC[:-1]) * t
    size = curve + _ERFC[-1]
    size_low = (_ERFC[-1] - size) + curve
    ratio = size * inverse
    ratio_low = (fma(-ratio, divisor, size) + fma(-ratio, divisor_low, size_low)) * inverse

    square = a * a
    k, shifted = whole(-square, LOG2_E)
    r, low = reduced(-square, k)
    low = low - fma(a, a, -square)
    r, low = r + low, r - (r + low) + low
    tail = fma(r * r, polynomial(r, EXPM1), low)
    power = r + tail  # exp(-a * a) / 2**k - 1
    power_low = (r - power) + tail
    product = ratio * power
    low = fma(ratio, power, -product) + fma(ratio, power_low, fma(ratio_low, power, ratio_low))
    total = ratio + product
    far = scaled(total + ((ratio - total) + product + low), shifted)
    return select(abs(x) < 0.65, near, select(x < 0.0, 2.0 - far, far))
