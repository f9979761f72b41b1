"""qd.math in plain Python: numpy's results, and the identities that GLSL's definitions have."""

import math

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session


@pytest.fixture(scope="module", autouse=True)
def running():
    session.start("emulator")
    qd.init(arch=qd.cpu, default_fp=qd.f64)
    yield
    qd.init(arch=qd.cpu)  # other files of this process have the defaults
    session.stop()


RNG = np.random.default_rng(0)
M = qd.math


@qd.kernel
def of_vectors(a: qd.types.ndarray(), b: qd.types.ndarray(), out: qd.types.ndarray()):
    for _ in range(1):
        x = M.vec3(a[0], a[1], a[2])
        y = M.vec3(b[0], b[1], b[2])
        out[0] = M.dot(x, y)
        out[1] = M.length(x)
        out[2] = M.distance(x, y)
        c = M.cross(x, y)
        n = M.normalize(x)
        r = M.reflect(x, n)
        for k in qd.static(range(3)):
            out[3 + k] = c[k]
            out[6 + k] = n[k]
            out[9 + k] = r[k]
        out[12] = M.mix(a[0], b[0], 0.25)
        out[13] = M.clamp(a[0], -0.5, 0.5)
        out[14] = M.fract(a[0])
        out[15] = M.sign(a[1])
        out[16] = M.step(0.0, a[2])
        out[17] = M.smoothstep(-1.0, 1.0, a[2] * 0.5)
        out[18] = M.degrees(a[0])
        out[19] = M.radians(a[0])
        out[20] = M.mod(a[0], b[1])


@pytest.mark.parametrize("number", range(3))
def test_functions_of_vectors(number):
    a, b = RNG.normal(size=3), RNG.normal(size=3)
    out = np.zeros(21)
    of_vectors(a, b, out)
    unit = a / np.linalg.norm(a)
    t = np.clip((a[2] * 0.5 + 1) / 2, 0, 1)
    wanted = [
        a @ b, np.linalg.norm(a), np.linalg.norm(a - b), *np.cross(a, b), *unit, *(a - 2 * (unit @ a) * unit),
        a[0] * 0.75 + b[0] * 0.25, np.clip(a[0], -0.5, 0.5), a[0] - math.floor(a[0]), np.sign(a[1]), float(a[2] >= 0),
        t * t * (3 - 2 * t), math.degrees(a[0]), math.radians(a[0]), a[0] - b[1] * math.floor(a[0] / b[1]),
    ]  # fmt: skip
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-12)


@qd.kernel
def of_matrices(a: qd.types.ndarray(), out: qd.types.ndarray()):
    for _ in range(1):
        m = M.mat3([[a[0], a[1], a[2]], [a[3], a[4], a[5]], [a[6], a[7], a[8]]])
        i = M.inverse(m)
        out[9] = M.determinant(m)
        for k in qd.static(range(9)):
            out[k] = i[k // 3, k % 3]


def test_the_inverse_and_the_determinant():
    a = RNG.normal(size=9)
    out = np.zeros(10)
    of_matrices(a, out)
    np.testing.assert_allclose(out[:9].reshape(3, 3), np.linalg.inv(a.reshape(3, 3)), rtol=1e-9)
    np.testing.assert_allclose(out[9], np.linalg.det(a.reshape(3, 3)), rtol=1e-9)


@qd.kernel
def of_complex(a: qd.types.ndarray(), out: qd.types.ndarray()):
    for _ in range(1):
        x = M.vec2(a[0], a[1])
        y = M.vec2(a[2], a[3])
        for k in qd.static(range(2)):
            out[0 + k] = M.cmul(x, y)[k]
            out[2 + k] = M.cdiv(x, y)[k]
            out[4 + k] = M.cexp(x)[k]
            out[6 + k] = M.csqrt(x)[k]
            out[8 + k] = M.cconj(x)[k]


def test_complex_numbers_are_pythons():
    a = RNG.normal(size=4)
    out = np.zeros(10)
    of_complex(a, out)
    x, y = complex(*a[:2]), complex(*a[2:])
    wanted = [x * y, x / y, np.exp(x), np.sqrt(x), x.conjugate()]
    np.testing.assert_allclose(out.view(np.complex128), wanted, rtol=1e-6)
