"""Functions on numbers, vectors and matrices: C's and numpy's results, in a kernel and in Python."""

import math

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.values.ops import any_

pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def of_integers(a: qd.types.ndarray(), b: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(6):
        out[0, i] = qd.raw_div(a[i], b[i])
        out[1, i] = qd.raw_mod(a[i], b[i])
        out[2, i] = qd.bit_shr(a[i], 3)
        out[3, i] = qd.select(a[i] > b[i], a[i], b[i])
        out[4, i] = qd.max(a[i], b[i], 2) - qd.min(a[i], b[i])
        out[5, i] = qd.abs(a[i])
        out[6, i] = qd.cast(a[i] * 1000, qd.i8)
        out[7, i] = qd.zero(a[i]) + qd.one(b[i])


A, B = [7, -7, 7, -7, 2**30, 0], [2, 2, -2, -2, 3, 5]


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def test_integers_in_a_kernel():
    out = np.zeros((8, 6), np.int32)
    of_integers(np.array(A, np.int32), np.array(B, np.int32), out)
    pairs = list(zip(A, B))
    wanted = [
        [truncated(a, b) for a, b in pairs],
        [a - b * truncated(a, b) for a, b in pairs],
        [(a % 2**32) >> 3 for a in A],
        [max(a, b) for a, b in pairs],
        [max(a, b, 2) - min(a, b) for a, b in pairs],
        [abs(a) for a in A],
        [(a * 1000 + 128) % 256 - 128 for a in A],
        [1] * 6,
    ]
    assert out.tolist() == wanted


@qd.kernel
def of_floats(x: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(4):
        out[0, i] = qd.floor(x[i])
        out[1, i] = qd.ceil(x[i])
        out[2, i] = qd.round(x[i])
        out[3, i] = qd.sqrt(qd.abs(x[i]))
        out[4, i] = qd.rsqrt(qd.abs(x[i]))
        out[5, i] = qd.atan2(x[i], 0.5)
        out[6, i] = qd.tanh(x[i])
        out[7, i] = qd.pow(qd.abs(x[i]), 1.5)
        out[8, i] = qd.raw_mod(x[i], 0.75)
        out[9, i] = qd.cast(qd.bit_cast(x[i], qd.i32) >> 23, qd.f32)


def test_floats_in_a_kernel():
    x = np.array([1.25, -2.5, 0.5, 3.7], np.float32)
    out = np.zeros((10, 4), np.float32)
    of_floats(x, out)
    size = np.abs(x)
    wanted = [
        np.floor(x), np.ceil(x), np.copysign(np.floor(size + 0.5), x), np.sqrt(size), 1 / np.sqrt(size), np.arctan2(x, np.float32(0.5)), np.tanh(x),
        size**1.5, np.fmod(x, np.float32(0.75)), (x.view(np.int32) >> 23).astype(np.float32),
    ]  # fmt: skip
    np.testing.assert_allclose(out, wanted, rtol=3e-6)


def test_in_python_they_are_pythons():
    assert [qd.raw_div(a, b) for a, b in zip(A, B)] == [truncated(a, b) for a, b in zip(A, B)]
    assert qd.raw_div(2**62 + 1, 1) == 2**62 + 1 and qd.raw_div(7.0, 2) == 3.5 and qd.raw_mod(-7, 2) == -1
    assert (qd.floor(2.5), qd.ceil(2.5), qd.round(2.5), qd.floor(-2.5, qd.i32)) == (2, 3, 2, -3)
    assert qd.max(1, 5, 3) == 5 and qd.min([4, 2]) == 2 and qd.select(0, 1, 2) == 2
    assert qd.sqrt(2.0) == math.sqrt(2.0) and qd.atan2(1.0, 2.0) == math.atan2(1.0, 2.0) and qd.abs(-3) == 3
    assert qd.max(qd.Vector([1, 5]), qd.Vector([4, 2])).entries == [4, 5] and qd.sqrt(
        qd.Vector([4.0, 9.0])
    ).entries == [2.0, 3.0]


def test_wrong_operands_are_refused():
    with pytest.raises(QuadrantsTypeError, match="`max` takes numbers, got none"):
        qd.max()
    with pytest.raises(QuadrantsTypeError, match="any and all take a vector or matrix"):
        any_(3)
