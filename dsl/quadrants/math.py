"""`qd.math`: constants, vector types and functions of the shading languages.

Functions take numbers, vectors and matrices, element by element where nothing else is said.
"""

from __future__ import annotations

import math as _math

from dsl.core.dtypes import Int32, Numeric
from dsl.gpu import bits
from dsl.quadrants import dtypes as _dtypes
from dsl.quadrants.annotations import matrix as _matrix, vector as _vector
from dsl.quadrants.errors import QuadrantsTypeError
from dsl.quadrants.matrix import Matrix
from dsl.quadrants.ops import (_mapped, acos, asin, atan2, cast, ceil, cos, exp, floor, log, max, min,  # noqa: F401
                               pow, round,
                               select, sin, sqrt, tan, tanh)

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
vec2, vec3, vec4 = (_vector(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_vector(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_vector(n, _dtypes.u32) for n in (2, 3, 4))
mat2, mat3, mat4 = (_matrix(n, n, float) for n in (2, 3, 4))


def clamp(x, xmin, xmax):
    """`x` held between `xmin` and `xmax`."""
    return min(xmax, max(xmin, x))


def mix(x, y, a):
    """`x` where `a` is 0, `y` where it is 1, linear between."""
    return x * (1.0 - a) + y * a


def fract(x):
    """The part of `x` behind the point."""
    return x - floor(x)


def mod(x, y):
    """`x - y * floor(x / y)`."""
    return x - y * floor(x / y)


def step(edge, x):
    """0 below `edge`, else 1."""
    return cast(x >= edge, float)


def smoothstep(edge0, edge1, x):
    """0 below `edge0`, 1 above `edge1`, a cubic between."""
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def sign(x):
    """-1, 0 or 1 as a float."""
    return cast(x > 0, float) - cast(x < 0, float)


def log2(x):
    """The logarithm to base 2."""
    return log(x) / _math.log(2)


def degrees(x):
    """Radians as degrees."""
    return x * (180 / pi)


def radians(x):
    """Degrees as radians."""
    return x * (pi / 180)


def isnan(x):
    """1 where `x` is not a number, else 0."""
    return cast(x != x, int)


def isinf(x):
    """1 where `x` is infinite, else 0."""
    return cast((x == inf) | (x == -inf), int)


def _of_bits(name: str, function):
    def number(value):
        found = _dtypes.number(value)
        if found is None or found.is_float:
            raise QuadrantsTypeError.at(f"'{name}' takes integral inputs only, however '{_dtypes.name_of(value)}' is "
                                        "provided")
        return function(found)
    return lambda x: _mapped(number, x)


def _plain_clz(value: Numeric) -> Numeric:
    return Int32(bits.clz(value))


popcnt, clz = _of_bits("popcnt", lambda value: Int32(bits.popc(value))), _of_bits("clz", _plain_clz)


def dot(x: Matrix, y: Matrix):
    """The inner product of two vectors."""
    return x.dot(y)


def cross(x: Matrix, y: Matrix):
    """The cross product of two vectors."""
    return x.cross(y)


def length(x: Matrix):
    """The Euclidean norm of a vector."""
    return x.norm()


def distance(x: Matrix, y: Matrix):
    """The Euclidean distance of two points."""
    return (x - y).norm()


def normalize(v: Matrix):
    """The vector of length 1 in the direction of `v`."""
    return v.normalized()


def reflect(x: Matrix, n: Matrix):
    """`x` mirrored at the plane whose normal is `n`, of length 1."""
    return x - 2.0 * x.dot(n) * n


def inverse(mat: Matrix):
    """The inverse of a square matrix."""
    return mat.inverse()


def determinant(m: Matrix):
    """The determinant of a square matrix."""
    return m.determinant()


def eye(n: int):
    """The identity matrix of n rows, of floats."""
    return Matrix.identity(float, n)
