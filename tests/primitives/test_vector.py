"""cutlass.Vector against numpy: operators, shapes, reductions, conversions, and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Boolean, Float16, Float32, Int32, Uint32, Vector, full, vector
from tests.primitives import kernels

V, W = np.array([1.5, -2.0, 3.25, 4.0], np.float32), np.array([7, -3, 2, 5], np.int32)

FLOATS = [
    lambda v: v + v,
    lambda v: 1 - v,
    lambda v: v * 0.5,
    lambda v: v / v,
    lambda v: -v,
    lambda v: abs(v),
    lambda v: v**2,
]
INTEGERS = [lambda w: w // 3, lambda w: w & 6, lambda w: w << 2, lambda w: w ^ w, lambda w: ~w, lambda w: 10 - w]


@pytest.mark.parametrize("place", range(len(FLOATS)))
def test_operators_of_floats(place):
    def body(a, b):
        a[4:4] = FLOATS[place](a[0:4])

    assert np.array_equal(kernels.run(body, np.concatenate([V, V]))[4:], FLOATS[place](V))


@pytest.mark.parametrize("place", range(len(INTEGERS)))
def test_operators_of_integers(place):
    def body(a, b):
        a[4:4] = INTEGERS[place](a[0:4])

    assert np.array_equal(kernels.run(body, np.concatenate([W, W]))[4:], INTEGERS[place](W))


def test_shapes():
    def body(a, b):
        v = a[0:4]
        matrix = vector.broadcast_to(v, (2, 4)) + vector.outerproduct(v[0:2], full((4,), 10.0, Float32))
        part = matrix[:, 1:3]
        assert (matrix.shape, part.shape, matrix[1, ::2].shape) == ((2, 4), (2, 2), (1, 2))
        a[4:2] = matrix.reduce("add", dim=1)
        a[6:2] = part.reduce("max", dim=[0])
        a[8] = matrix.reduce("mul", acc=Float32(0.5))
        a[9] = part[1, -1]

    result = kernels.run(body, np.concatenate([V, np.zeros(6, np.float32)]))
    matrix = V + np.outer(V[:2], np.full(4, 10, np.float32))
    part = matrix[:, 1:3]
    assert np.allclose(result[4:], [*matrix.sum(1), *part.max(0), matrix.prod() / 2, part[1, 1]])


def test_choices():
    def body(a, b):
        v = a[0:4]
        a[0:4] = vector.where((v > 0) & vector.create_mask((4,), (Int32(a[4]),)), v, vector.zeros_like(v))
        a[4] = Float32(vector.any_(v < 0)) + Float32(vector.all_(v != 0)) * 2

    result = kernels.run(body, np.append(V, np.float32(3)))
    assert np.array_equal(result, [1.5, 0, 3.25, 0, 3])


def test_conversions():
    def body(a, b):
        v = Vector.from_elements((1.5, -2.0, 3.25, a[3]), Float32)
        b[0:4] = v.to(Int32)
        b[4:4] = v.bitcast(Int32)
        b[8:2] = v.to(Float16).bitcast(Int32)
        b[10] = Int32(v.numel()) + Int32(sum(1 for _ in v))
        assert (v.dtype, v.to(Uint32).signed, str(v)) == (Float32, False, "vector<4xFloat32>")

    out = np.zeros(11, np.int32)
    kernels.run(body, V.copy(), out)
    halves = V.astype(np.float16).view(np.int32)
    assert np.array_equal(out, [*V.astype(np.int32), *V.view(np.int32), *halves, 8])


def test_a_nan_is_not_an_extreme():
    def body(a, b):
        a[1], a[2] = a[0:4].reduce("max"), a[0:4].reduce("min")

    assert np.array_equal(kernels.run(body, np.array([np.nan, 3, 1, 2], np.float32))[1:3], [3, 1])


def test_a_loop_carries_a_vector():
    def body(a, b):
        total = full((4,), 0.0, Float32)
        for i in range(b[0]):
            total = total + a[0:4] * Float32(i)
        a[0:4] = total

    assert np.array_equal(kernels.run(body, V.copy(), np.array([4], np.int32)), V * 6)


MISTAKES = [
    (lambda v, w: v + w, "an operator needs two vectors of one type, got Float32 and Int32"),
    (lambda v, w: w + 1.5, "an operator of a Vector of Int32 takes integers, got Python float"),
    (lambda v, w: w / w, "`/` of vectors needs floats, got elements of Int32"),
    (lambda v, w: v & v, "a Vector of Float32 has no bitwise operators"),
    (lambda v, w: v + full((3,), 1.0), "vectors of shapes (4,) and (3,) do not fit together"),
    (lambda v, w: v[4], "vector index must be -4-3, got 4"),
    (lambda v, w: v[0, 0], "index of a vector of shape (4,) must have 1 parts, got 2"),
    (lambda v, w: v[w[0] : 2], "a slice of a Vector must be static"),
    (lambda v, w: v.__setitem__(0, 1.0), "assigns to an element of a Vector, which is a value"),
    (lambda v, w: len(v), "a Vector has no len()"),
    (lambda v, w: bool(v), "the argument of bool() must be a number, got Vector of 4 Float32"),
    (lambda v, w: v.reduce("sub"), "reduction must be one of add, mul, min, max, got 'sub'"),
    (lambda v, w: vector.broadcast_to(v, (4, 2)), "a vector of shape (4,) is not repeated to (4, 2)"),
    (lambda v, w: vector.where(w, v, 0.0), "where takes a Vector of Boolean, got Vector of 4 Int32"),
    (lambda v, w: v.to(Boolean) + 1, "a Vector of Boolean has no arithmetic"),
    (lambda v, w: Vector.from_elements(v[0], Float32), "from_elements takes a tuple of numbers, got Float32"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(a[0:4], a[0:4].to(Int32)), V)
    assert str(error.value.message) == message
