"""`qd.Vector` and `qd.Matrix` as makers of values, fields and arrays."""

import pytest

import dsl.quadrants as qd
from dsl.quadrants.errors.errors import QuadrantsTypeError

pytestmark = pytest.mark.usefixtures("running")


def test_vectors_and_matrices_are_of_one_class():
    v, m = qd.Vector([1, 2, 3]), qd.Matrix([[1, 2], [3, 4]])
    assert isinstance(v, qd.Vector) and isinstance(m, qd.Vector) and isinstance(v, qd.Matrix)
    assert not isinstance([1], qd.Vector)
    assert (v.shape, m.shape, qd.Vector.unit(3, 1).to_list()) == ((3,), (2, 2), [0, 1, 0])


@pytest.mark.parametrize(
    "make, element_shape",
    [
        (lambda: qd.Vector.field(3, qd.f32, shape=4), (3,)),
        (lambda: qd.Matrix.field(2, 3, qd.f32, shape=4), (2, 3)),
        (lambda: qd.Vector.ndarray(3, qd.f32, 4), (3,)),
        (lambda: qd.Matrix.ndarray(2, 3, qd.f32, 4), (2, 3)),
    ],
)
def test_fields_and_arrays(make, element_shape):
    container = make()
    assert (container.shape, container.element_shape, container.dtype) == ((4,), element_shape, qd.f32)


def test_calls_are_compared_with_the_signature():
    with pytest.raises(QuadrantsTypeError, match="`qd.Matrix.ndarray` has no argument `shpe`"):
        qd.Matrix.ndarray(2, 2, qd.f32, shpe=3)
    with pytest.raises(QuadrantsTypeError, match="`qd.Vector` has no argument `dtype`"):
        qd.Vector([1], dtype=qd.f32)
