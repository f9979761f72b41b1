"""With debug=True an index is checked against its own dimension, of whatever it indexes; the error names all of it."""

import itertools

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session

vec3 = qd.types.vector(3, qd.i32)


@pytest.fixture(autouse=True)
def running():
    run = session.start("emulator")
    qd.init(arch=qd.cpu, debug=True)
    yield run
    session.stop()


@qd.kernel
def of_field(x: qd.template(), i: int, j: int) -> int:
    return x[i, j]


@qd.kernel
def of_array(x: qd.types.ndarray(), i: int, j: int) -> int:
    return x[i, j]


@qd.kernel
def of_grouped(x: qd.template(), i: int, j: int) -> int:
    return x[qd.Vector([i, j])]


@qd.kernel
def of_local_matrix(x: qd.template(), i: int, j: int) -> int:
    m = qd.Matrix([[0, 1, 2], [3, 4, 5]])
    return m[i, j]


@qd.kernel
def of_matrix_field(x: qd.template(), i: int, j: int) -> int:
    return x[1][i, j]


@qd.kernel
def of_vector_array(x: qd.types.ndarray(dtype=vec3, ndim=1), i: int, j: int) -> int:
    return x[i][j]


@qd.kernel
def stored(x: qd.template(), i: int, j: int) -> int:
    x[i, j] += 10
    return x[i, j] - 10


def numbered(field):
    field.from_numpy(
        np.arange(np.prod(field.shape + field.element_shape), dtype=np.int32).reshape(field.shape + field.element_shape)
    )
    return field


def subjects():
    """(kernel, what it takes, label in words for each dimension, start and extent of each dimension)."""
    flat = np.arange(6, dtype=np.int32).reshape(2, 3)
    offset = qd.field(qd.i32, shape=(2, 3), offset=(-1, 4))
    for i, j in itertools.product(range(2), range(3)):
        offset[i - 1, j + 4] = 3 * i + j
    plain = [(0, 2), (0, 3)]
    yield of_field, numbered(qd.field(qd.i32, shape=(2, 3))), ["field of shape (2, 3)"] * 2, plain
    yield of_field, offset, ["field of shape (2, 3)"] * 2, [(-1, 2), (4, 3)]
    yield stored, numbered(qd.field(qd.i32, shape=(2, 3))), ["field of shape (2, 3)"] * 2, plain
    yield of_grouped, numbered(qd.field(qd.i32, shape=(2, 3))), ["field of shape (2, 3)"] * 2, plain
    yield of_array, flat, ["array of shape (2, 3)"] * 2, plain
    yield of_array, np.asfortranarray(flat), ["array of shape (2, 3)"] * 2, plain
    yield of_array, numbered(qd.ndarray(qd.i32, (2, 3))), ["array of shape (2, 3)"] * 2, plain
    yield of_local_matrix, numbered(qd.field(qd.i32, shape=1)), ["matrix of shape (2, 3)"] * 2, plain
    yield of_matrix_field, numbered(qd.Matrix.field(2, 3, qd.i32, shape=2)), ["matrix of shape (2, 3)"] * 2, plain
    yield of_vector_array, flat, ["array of shape (2,)", "vector of shape (3,)"], plain


@pytest.mark.slow
def test_an_index_outside_of_its_dimension_is_an_error_and_no_other_is():
    for kernel, subject, labels, dims in subjects():
        (low, rows), (left, columns) = dims
        first = 6 if kernel is of_matrix_field else 0
        for i, j in itertools.product(
            (low - 1, *range(low, low + rows), low + rows), (left - 1, *range(left, left + columns), left + columns)
        ):
            wrong = next(
                (
                    axis
                    for axis, (at, (start, extent)) in enumerate(zip((i, j), dims))
                    if not start <= at < start + extent
                ),
                None,
            )
            if wrong is None:
                assert kernel(subject, i, j) == first + (i - low) * columns + j - left, (kernel.__name__, i, j)
                continue
            with pytest.raises(qd.QuadrantsAssertionError) as caught:
                kernel(subject, i, j)
            axis = 0 if labels[wrong].startswith("vector") else wrong
            text = f"assertion failed: Out of bound access: index {(i, j)[wrong]} is out of bounds of dimension {axis} of the {labels[wrong]}"
            start, extent = dims[wrong]
            text += f", where indices run from {start} to {start + extent - 1}" if start else ""
            line = str(caught.value).splitlines()[2]
            assert line.endswith(text) and "^ " in line, (kernel.__name__, i, j, str(caught.value))
            assert (
                "x[i" in str(caught.value)
                or "m[i" in str(caught.value)
                or "x[1]" in str(caught.value)
                or "Vector([i" in str(caught.value)
            )


@qd.kernel
def guarded(x: qd.types.ndarray(), n: int) -> int:
    s = 0
    for i in range(4):
        s += x[i] if i < n else 100
        if i < n and x[i] >= 0:
            s += 1000
    return s


def test_an_access_is_checked_only_if_its_condition_holds():
    assert guarded(np.arange(1, 3, dtype=np.int32), 2) == 1 + 2 + 200 + 2000
    with pytest.raises(qd.QuadrantsAssertionError, match=r"index 2 is out of bounds of dimension 0 .* \(2,\)"):
        guarded(np.arange(1, 3, dtype=np.int32), 3)


@qd.kernel
def beside(x: qd.template()):
    x[0, 16] = 1


@qd.kernel
def last(x: qd.types.ndarray()) -> int:
    v = qd.Vector([1, 2])
    return v[-1]


@qd.kernel
def last_of_array(x: qd.types.ndarray()) -> int:
    return x[-1]


def test_static_indices():
    x = qd.field(qd.i32, shape=(8, 16))
    with pytest.raises(qd.QuadrantsAssertionError, match=r"index 16 .* dimension 1 of the field of shape \(8, 16\)"):
        beside(x)
    assert not x.to_numpy().any()
    for kernel in (last, last_of_array):
        with pytest.raises(qd.QuadrantsSyntaxError, match="Negative indices are not supported") as caught:
            kernel(np.zeros(3, np.int32))
        assert "fix: " in str(caught.value) and "[-1]" in str(caught.value)
    qd.init(arch=qd.cpu)  # without debug nothing is checked per dimension
    x = qd.field(qd.i32, shape=(8, 16))
    beside(x)
    assert np.argwhere(x.to_numpy()).tolist() == [[1, 0]]


# --- the elements of an array ---


@qd.kernel
def takes_mat3(arr: qd.types.ndarray(dtype=qd.math.mat3, ndim=2)):
    for i in qd.grouped(arr):
        arr[i] = arr[i] + 1.0


@qd.kernel
def takes_vec2(arr: qd.types.ndarray(dtype=qd.math.vec2)):
    for i in qd.grouped(arr):
        arr[i] = arr[i] + 1.0


def arrays(shape):
    import torch

    return np.zeros(shape, np.float32), torch.zeros(shape)


def test_an_array_has_the_elements_of_its_annotation():
    rank = "`arr` must have ndim=2 and elements of 2 dimensions, got an array of {} dimensions"
    shape = "Invalid value for argument arr: it must have elements of shape (3, 3) (required element shape), got {}"
    cases = [
        (takes_mat3, (2, 2, 3, 3), ""),
        (takes_mat3, (2, 2, 4, 3), shape.format((4, 3))),
        (takes_mat3, (2, 2, 2, 3), shape.format((2, 3))),
        (takes_mat3, (2, 2, 3), rank.format(3)),
        (takes_mat3, (3,), rank.format(1)[:-1]),
        (takes_mat3, (2, 2, 3, 3, 3), rank.format(5)),
        (takes_vec2, (4, 2), ""),
        (takes_vec2, (3, 4, 2), ""),
        (takes_vec2, (2,), ""),
        (takes_vec2, (2, 4), shape.replace("(3, 3)", "(2,)").format((4,))),
        (takes_vec2, (), "`arr` must have elements of 1 dimension, got an array of 0 dimensions"),
    ]
    for kernel, given, wrong in cases:
        for array in arrays(given):
            if wrong:
                with pytest.raises(ValueError) as caught:
                    kernel(array)
                assert caught.value.message == wrong
            else:
                kernel(array)
                assert np.asarray(array).sum() == np.prod(given)
    for made, wrong in (
        (qd.Matrix.ndarray(3, 3, qd.f32, (2, 2)), ""),
        (qd.Matrix.ndarray(4, 3, qd.f32, (2, 2)), shape.format((4, 3))),
        (qd.Vector.ndarray(3, qd.f32, (2, 2)), shape.format((3,))),
        (qd.ndarray(qd.f32, (2, 2)), shape.format(())),
    ):
        if wrong:
            with pytest.raises(ValueError, match="required element shape"):
                takes_mat3(made)
        else:
            takes_mat3(made)
            assert made.to_numpy().sum() == 36


@qd.kernel
def added(x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i, j in x:
        y[i, j] += x[i, j]


def test_empty_and_transposed_arrays():
    import torch

    for shape in ((0, 5), (5, 0), (0, 0)):
        added(np.zeros(shape, np.int32), np.zeros(shape, np.int32))
        added(torch.zeros(shape), torch.zeros(shape))
    flat = np.arange(6, dtype=np.int32).reshape(2, 3)
    for x in (flat.T, torch.from_numpy(flat).T, np.asfortranarray(flat.T)):
        y = np.zeros((3, 2), np.int32)
        added(x, y)
        assert (y == flat.T).all()
    with pytest.raises(ValueError, match="Non contiguous"):
        added(np.zeros((4, 4), np.int32)[::2], np.zeros((2, 4), np.int32))
