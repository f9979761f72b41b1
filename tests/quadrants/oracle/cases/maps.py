"""qd.math: rotations and other maps, complex numbers, refraction. Nine digits, as sines may differ in the last ones."""

import numpy as np
import quadrants as qd
from options import options

M = qd.math


def _digits(values):
    return np.round(np.array(values, np.float64), 9) + 0.0


def _made(shape, make, *numbers):
    """What `make` gives of these numbers, in a kernel."""
    out, given = qd.field(qd.f64, shape), qd.field(qd.f64, max(len(numbers), 1))
    for place, number in enumerate(numbers):
        given[place] = number

    @qd.kernel
    def k():
        made = make(given)
        for place in qd.static(qd.ndrange(*shape)):
            out[place] = made[place]

    k()
    return _digits(out.to_numpy())


@options(default_fp=qd.f64)
def rotation_of_the_plane():
    @qd.func
    def make(given):
        return M.rotation2d(given[0])

    return [_made((2, 2), make, angle) for angle in (0.0, 0.5, -2.0)]


@options(default_fp=qd.f64)
def rotation_about_an_axis():
    @qd.func
    def make(given):
        return M.rot_by_axis(M.vec3(given[0], given[1], given[2]), given[3])

    return [_made((4, 4), make, *numbers) for numbers in ((0.0, 0.0, 2.0, 0.5), (1.0, -2.0, 0.5, 2.5))]


@options(default_fp=qd.f64)
def rotation_by_yaw_pitch_and_roll():
    @qd.func
    def make(given):
        return M.rot_yaw_pitch_roll(given[0], given[1], given[2])

    return [_made((4, 4), make, *angles) for angles in ((0.3, 0.0, 0.0), (0.3, -1.1, 2.0))]


@options(default_fp=qd.f64)
def rotation_by_angles_of_euler():
    @qd.func
    def make(given):
        return M.rotation3d(given[0], given[1], given[2])

    return [_made((4, 4), make, *angles) for angles in ((0.3, 0.0, 0.0), (0.3, -1.1, 2.0))]


@options(default_fp=qd.f64)
def move_and_stretch():
    @qd.func
    def make(given):
        return M.translate(given[0], given[1], given[2]) @ M.scale(given[3], given[4], given[5])

    return _made((4, 4), make, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


@options(default_fp=qd.f64)
def identity():
    @qd.func
    def make(given):
        return M.eye(3)

    return _made((3, 3), make)


@options(default_fp=qd.f64)
def refraction():
    @qd.kernel
    def k(x: qd.f64, y: qd.f64, ratio: qd.f64) -> M.vec3:
        return M.refract(M.normalize(M.vec3(x, y, 0.25)), M.vec3(0.0, 1.0, 0.0), ratio)

    return [_digits(k(*numbers)) for numbers in ((1.0, -1.0, 0.75), (1.0, -0.25, 1.5), (0.0, -1.0, 1.25))]


@options(default_fp=qd.f64)
def logarithm_and_direction():
    @qd.kernel
    def k(x: qd.f64, y: qd.f64) -> M.vec4:
        z = M.clog(M.vec2(x, y))
        d = M.vdir(y)
        return M.vec4(z[0], z[1], d[0], d[1])

    return [_digits(k(*numbers)) for numbers in ((1.0, 2.0), (-3.0, 0.5), (-1.0, -4.0))]


@options(default_fp=qd.f64)
def logarithm_to_base_2():
    @qd.kernel
    def k(x: qd.f64) -> qd.f64:
        return M.log2(x)

    return _digits([k(x) for x in (1.0, 10.0, 0.3)])


@options(default_fp=qd.f64)
def nan_and_infinity():
    @qd.kernel
    def k(x: qd.f64) -> qd.i32:
        return M.isnan(x) * 10 + M.isinf(x)

    return [k(x) for x in (1.0, float("nan"), float("inf"), float("-inf"))]
