"""Arrays: what a pickle keeps of them."""

import pickle

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


@pytest.mark.parametrize("dtype", [qd.u1, qd.i8, qd.u64, qd.f16, qd.f64])
@pytest.mark.parametrize("element_shape", [(), (3,), (2, 1)])
def test_a_pickle_has_values_type_and_shapes(dtype, element_shape):
    kind = (
        dtype
        if not element_shape
        else (qd.types.vector, qd.types.matrix)[len(element_shape) - 1](*element_shape, dtype)
    )
    array = qd.ndarray(kind, (4, 2))
    values = (np.arange(array.to_numpy(keep_dims=True).size) % 2).reshape(array.to_numpy(keep_dims=True).shape)
    array.from_numpy(values.astype(dtype.numpy_name))
    other = pickle.loads(pickle.dumps(array))
    assert (other.dtype, other.shape, other.element_shape) == (array.dtype, (4, 2), element_shape)
    assert type(other) is type(array) and (other.to_numpy() == array.to_numpy()).all()
    other.fill(1)
    assert array.to_numpy().min() == 0
