"""Atomic minima and maxima of floats, which are compare-and-swaps: against their definition, in the order of threads."""

import itertools
import math

import numpy as np
import pytest

import dsl.quadrants as qd

VALUES = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan]


pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def maxima(x: qd.types.ndarray(), v: qd.types.ndarray(), old: qd.types.ndarray()):
    for i in range(v.shape[0]):
        old[i] = qd.atomic_max(x[0], v[i])


@qd.kernel
def minima(x: qd.types.ndarray(), v: qd.types.ndarray(), old: qd.types.ndarray()):
    for i in range(v.shape[0]):
        old[i] = qd.atomic_min(x[0], v[i])


def larger(a, b):
    """PTX ISA, max: a number rather than a NaN, and +0 is above -0."""
    if np.isnan(a) or np.isnan(b):
        return b if np.isnan(a) else a
    return (a if np.signbit(b) else b) if a == b else max(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [maxima, minima])
def test_extremes_of_floats_have_the_bits_of_their_definition(kernel, dtype):
    """Two values in each order after a first one; NaNs, zeros of both signs and infinities are among them."""
    sign = 1 if kernel is maxima else -1
    for first, *values in itertools.product(VALUES, VALUES, VALUES):
        x, v = np.array([first], dtype), np.array(values, dtype)
        old, seen, now = np.zeros(len(v), dtype), [], x[0]
        for each in v:
            seen.append(now)
            now = dtype(sign) * larger(dtype(sign) * now, dtype(sign) * each)
        kernel(x, v, old)
        np.testing.assert_array_equal(x, [now])
        assert np.signbit(x[0]) == np.signbit(now) or np.isnan(now)
        np.testing.assert_array_equal(old, seen)


def test_a_maximum_of_many_blocks():
    v = np.random.default_rng(1).standard_normal(5000).astype(np.float32)
    x, old = np.zeros(1, np.float32), np.zeros(5000, np.float32)
    maxima(x, v, old)
    assert x[0] == v.max()
