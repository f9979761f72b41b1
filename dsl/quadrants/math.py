"""`qd.math`: constants, vector types and functions of the shading languages.

Functions take numbers, vectors and matrices, element by element unless described otherwise.
"""

from __future__ import annotations

import math as _math

from dsl.core.number.dtypes import Boolean, Int32, Numeric, Uint32, Uint64
from dsl.core.number.operators import operate, select as choose
from dsl.gpu.arithmetic import bits
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import CalledFromPython, QuadrantsTypeError
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.annotations import matrix as _matrix, vector as _vector
from dsl.quadrants.functions.task import active, dynamic
from dsl.quadrants.values import dtypes as _dtypes
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix
from dsl.quadrants.values.ops import (
    _mapped,
    acos,
    asin,
    atan2,
    cast,
    ceil,
    cos,
    exp,
    floor,
    log,
    max,
    min,
    pow,
    round,
    select,
    sin,
    sqrt,
    tan,
    tanh,
)

__all__ = [
    "acos",
    "asin",
    "atan2",
    "cast",
    "cconj",
    "cdiv",
    "ceil",
    "cexp",
    "cinv",
    "clamp",
    "clog",
    "clz",
    "cmul",
    "cos",
    "cpow",
    "cross",
    "csqrt",
    "degrees",
    "determinant",
    "distance",
    "dot",
    "e",
    "exp",
    "eye",
    "ffs",
    "floor",
    "fns",
    "fract",
    "inf",
    "inverse",
    "isinf",
    "isnan",
    "ivec2",
    "ivec3",
    "ivec4",
    "length",
    "log",
    "log2",
    "mat2",
    "mat3",
    "mat4",
    "max",
    "min",
    "mix",
    "mod",
    "nan",
    "normalize",
    "pi",
    "popcnt",
    "pow",
    "radians",
    "reflect",
    "refract",
    "rot_by_axis",
    "rot_yaw_pitch_roll",
    "rotation2d",
    "rotation3d",
    "round",
    "scale",
    "select",
    "sign",
    "sin",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "translate",
    "uvec2",
    "uvec3",
    "uvec4",
    "vdir",
    "vec2",
    "vec3",
    "vec4",
]

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
vec2, vec3, vec4 = (_vector(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_vector(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_vector(n, _dtypes.DEFAULT_UNSIGNED) for n in (2, 3, 4))
mat2, mat3, mat4 = (_matrix(n, n, float) for n in (2, 3, 4))


def clamp(x, xmin, xmax):
    """`x` held between `xmin` and `xmax`."""
    return min(xmax, max(xmin, x))


def mix(x, y, a):
    """`x` where `a` is 0, `y` where it is 1, linear between."""
    return x * (1.0 - a) + y * a


def fract(x):
    """The part of `x` after the point."""
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
        if not active():
            raise CalledFromPython.at(f"`qd.math.{name}` works in kernels and funcs only", "call it in a @qd.kernel")
        return function(_integer(name, value))

    def bits_of(x):
        return _mapped(number, x)

    bits_of.__name__ = bits_of.__qualname__ = name
    return bits_of


def _plain_clz(value: Numeric) -> Numeric:
    return Int32(bits.clz(value))


def _ffs(value: Numeric) -> Numeric:
    core = Uint64 if type(value).width == 64 else Uint32
    own = core((1 << type(value).width) - 1)  # a narrow negative number is extended with ones
    lowest = operate("and", operate("and", core(value), core(-value)), own)
    return operate("sub", Int32(core.width), Int32(bits.clz(lowest)))


def _rank(mask: Numeric, number: Numeric) -> tuple[Numeric, Numeric]:
    """The position of the set bit with that number, counted from 1 at bit 0, and whether there is one."""
    exists = operate("le", number, Int32(bits.popc(mask)))
    at = Int32(0)
    for width in (16, 8, 4, 2, 1):
        below = Int32(bits.popc(operate("and", mask, Uint32((1 << width) - 1))))
        is_above = operate("gt", number, below)
        at = choose(is_above, at + Int32(width), at)
        mask = choose(is_above, operate("rshift", mask, Uint32(width)), mask)
        number = choose(is_above, number - below, number)
    return at, exists


def fns(mask, base, offset):
    """The position of a set bit of a 32-bit `mask`, counted from bit `base` on; all ones where there is none.

    `offset` 1 is the first at or above `base`, -1 the first at or below it, 0 `base` itself. PTX ISA: fns.
    """
    mask, base = (Uint32(_integer("fns", value)) for value in (mask, base))
    offset = Int32(_integer("fns", offset))
    is_down = operate("lt", offset, Int32(0))
    turned = choose(is_down, Uint32(bits.brev(mask)), mask)
    start = choose(is_down, Uint32(31) - base, base)
    left = operate("and", turned, operate("lshift", Uint32(0xFFFFFFFF), start))
    number = choose(is_down, -offset, offset)
    at, exists = _rank(left, choose(operate("eq", number, Int32(0)), Int32(1), number))
    at = Uint32(choose(is_down, Int32(31) - at, at))
    fits = operate("or", operate("ne", offset, Int32(0)), operate("eq", at, base))
    return choose(operate("and", Boolean(exists), Boolean(fits)), at, Uint32(0xFFFFFFFF))


def _integer(name: str, value: object) -> Numeric:
    number = _dtypes.number(value_of(value))
    if number is None or number.is_float:
        raise QuadrantsTypeError.at(
            f"'{name}' takes integral inputs only, got {described(value)}", "convert it: `int(x)`"
        )
    return dynamic(number)


ffs = _of_bits("ffs", _ffs)
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


# --- complex numbers as vectors of two ---


def cconj(z):
    """The conjugate of a complex number."""
    return Matrix([z[0], -z[1]])


def cmul(z1, z2):
    """The product of two complex numbers."""
    return Matrix([z1[0] * z2[0] - z1[1] * z2[1], z1[0] * z2[1] + z1[1] * z2[0]])


def cinv(z):
    """1 / z."""
    return cconj(z) / z.norm_sqr()


def cdiv(z1, z2):
    """z1 / z2."""
    return cmul(z1, cinv(z2))


def csqrt(z):
    """The square root whose real part is not negative."""
    return cpow(z, 0.5)


def cpow(z, n):
    """z ** n for a real n; 0 of 0."""
    radius = z.norm()
    angle = atan2(z[1], z[0]) * n
    size = select(radius > 0, radius**n, 0.0)
    return Matrix([size * cos(angle), size * sin(angle)])


def cexp(z):
    """The exponential."""
    return Matrix([exp(z[0]) * cos(z[1]), exp(z[0]) * sin(z[1])])


def clog(z):
    """The logarithm, with the angle in (-pi, pi]."""
    return Matrix([log(z.norm()), atan2(z[1], z[0])])


def vdir(ang):
    """The vector of length 1 in the direction `ang`."""
    return Matrix([cos(ang), sin(ang)])


# --- rotations and other maps, as matrices ---


def rotation2d(ang):
    """The rotation of the plane by `ang`, counterclockwise."""
    return Matrix([[cos(ang), -sin(ang)], [sin(ang), cos(ang)]])


def translate(dx, dy, dz):
    """The 4x4 matrix that moves by (dx, dy, dz)."""
    return Matrix([[1.0, 0.0, 0.0, dx], [0.0, 1.0, 0.0, dy], [0.0, 0.0, 1.0, dz], [0.0, 0.0, 0.0, 1.0]])


def scale(sx, sy, sz):
    """The 4x4 matrix that stretches by (sx, sy, sz)."""
    return Matrix([[sx, 0.0, 0.0, 0.0], [0.0, sy, 0.0, 0.0], [0.0, 0.0, sz, 0.0], [0.0, 0.0, 0.0, 1.0]])


def rot_by_axis(axis, ang):
    """The 4x4 rotation by `ang` about `axis`, as a matrix of rows that vectors are multiplied with from the left."""
    x, y, z = axis.normalized().parts()
    c, s = cos(ang), sin(ang)
    t = 1.0 - c
    return Matrix(
        [
            [c + x * x * t, x * y * t + z * s, x * z * t - y * s, 0.0],
            [x * y * t - z * s, c + y * y * t, y * z * t + x * s, 0.0],
            [x * z * t + y * s, y * z * t - x * s, c + z * z * t, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rot_yaw_pitch_roll(yaw, pitch, roll):
    """The 4x4 rotation by `roll` about z, then `pitch` about x, then `yaw` about y."""
    c1, s1, c2, s2, c3, s3 = (f(ang) for ang in (yaw, pitch, roll) for f in (cos, sin))
    return Matrix(
        [
            [c1 * c3 + s1 * s2 * s3, c2 * s3, c1 * s2 * s3 - c3 * s1, 0.0],
            [c3 * s1 * s2 - c1 * s3, c2 * c3, c1 * c3 * s2 + s1 * s3, 0.0],
            [c2 * s1, -s2, c1 * c2, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rotation3d(ang_x, ang_y, ang_z):
    """The 4x4 rotation by Euler's angles."""
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)


def refract(x, n, eta):
    """The direction `x` after a surface with normal `n`, of refractive indices with ratio `eta`; 0 where all is
    reflected."""
    d = x.dot(n)
    k = 1.0 - eta * eta * (1.0 - d * d)
    bent = x * eta - n * (eta * d + sqrt(max(k, 0.0)))
    return bent.map(lambda entry: select(k >= 0.0, entry, 0.0))


__getattr__ = refuser("math", globals())
