"""`qd.math`: constants and functions of the shading languages."""

from __future__ import annotations

import math as _math

from dsl.quadrants.matrix import Matrix
from dsl.quadrants.ops import acos, asin, atan2, ceil, cos, exp, floor, log, max, min, pow, round, sin, sqrt, tan, tanh

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan


def clamp(x, xmin, xmax):
    """`x` held between `xmin` and `xmax`."""
    return min(xmax, max(xmin, x))


def mix(x, y, a):
    """`x` where `a` is 0, `y` where it is 1, linear between."""
    return x * (1.0 - a) + y * a


def fract(x):
    """The part of `x` behind the point."""
    return x - floor(x)


def dot(x: Matrix, y: Matrix):
    return x.dot(y)


def length(x: Matrix):
    return x.norm()


def normalize(v: Matrix):
    return v.normalized()
