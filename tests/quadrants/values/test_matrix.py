"""Vectors and matrices in plain Python: numpy's arithmetic, shapes and indexing; what is refused."""

import operator

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.quadrants.errors.errors import QuadrantsIndexError, QuadrantsTypeError
from dsl.quadrants.values.matrix import Matrix, Vector

ROWS = [[1, -2, 3], [4, 5, -6]]
A = np.array(ROWS)
M = Matrix(ROWS)
V = Vector([3, -4, 5])


def test_shapes_and_elements():
    assert (M.n, M.m, M.ndim, M.shape, len(M)) == (2, 3, 2, (2, 3), 2) and (V.n, V.m, V.ndim) == (3, 1, 1)
    assert [[M[i, j] for j in range(3)] for i in range(2)] == ROWS and list(V) == [3, -4, 5]
    assert M[1].entries == ROWS[1] and M.to_numpy().tolist() == ROWS
    assert M[:, 1].entries == [-2, 5] and M[0, 0:2].entries == [1, -2] and M[:, 0:2].shape == (2, 2)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_operators_are_numpys_element_by_element(name):
    function = getattr(operator, name)
    other = Matrix([[2, 2, 2], [4, 4, 4]])
    assert np.allclose(function(M, other).to_numpy(), function(A, other.to_numpy()))
    assert np.allclose(function(M, 2).to_numpy(), function(A, 2)) and np.allclose(
        function(2, M).to_numpy(), function(2, A)
    )


def test_products_transposes_and_sums():
    assert (M @ M.transpose()).to_numpy().tolist() == (A @ A.T).tolist() and (M @ V).to_numpy().tolist() == (
        A @ [3, -4, 5]
    ).tolist()
    assert M.transpose().shape == (3, 2) and (-M).to_numpy().tolist() == (-A).tolist()
    assert (M.sum(), V.dot(V), V.norm()) == (A.sum(), 50, 50**0.5)
    assert (M.max(), M.min()) == (5, -6)


def test_makers():
    assert Matrix.identity(int, 2).to_numpy().tolist() == np.eye(2).tolist()
    assert Matrix.zero(int, 2, 3).shape == (2, 3) and Matrix.one(int, 2).entries == [1, 1]
    assert Matrix.unit(3, 1).entries == [0, 1, 0] and Matrix.diag(2, 7).to_numpy().tolist() == [[7, 0], [0, 7]]
    assert Matrix.rows([[1, 2], [3, 4]]).entries == [1, 2, 3, 4] and Matrix.cols([[1, 2], [3, 4]]).entries == [
        1,
        3,
        2,
        4,
    ]


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: M[0, 3], QuadrantsIndexError, "index 3 is out of bounds of an axis of 3"),
        (lambda: V[0, 1], QuadrantsIndexError, "Expected 1 indices, got 2"),
        (lambda: Matrix([[1, 2], [3]]), QuadrantsTypeError, None),
        (lambda: Matrix(3), QuadrantsTypeError, "a vector or matrix is made of a list of numbers or of lists, got 3"),
    ],
)
def test_wrong_indices_and_entries_are_refused(call, kind, text):
    with pytest.raises(kind) as error:
        call()
    assert text is None or text in str(error.value)


def test_the_public_class_makes_these_and_knows_them():
    made = qd.Matrix([[1, 2], [3, 4]])
    assert (
        type(made) is Matrix
        and isinstance(made, qd.Matrix)
        and isinstance(V, qd.Matrix)
        and not isinstance(3, qd.Matrix)
    )
    assert qd.Matrix.identity(int, 2).entries == [1, 0, 0, 1] and qd.Matrix.transpose(made).entries == [1, 3, 2, 4]


@pytest.mark.usefixtures("running")
def test_a_row_or_column_of_a_run_time_index():
    @qd.kernel
    def row_and_column(i: int, out: qd.types.ndarray()):
        m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
        fixed = qd.Matrix([[7, 8, 9], [10, 11, 12]])
        m[i, :] = qd.Vector([20, 30, 40])
        m[0, 1:] += fixed[i, :2]
        column = m[:, i + 1]
        for k in qd.static(range(2)):
            out[k] = column[k]
            for j in qd.static(range(3)):
                out[2 + 3 * k + j] = m[k, j]

    for i in range(2):
        out, m = np.zeros(8, np.int32), np.array([[1, 2, 3], [4, 5, 6]])
        row_and_column(i, out)
        m[i] = 20, 30, 40
        m[0, 1:] += np.array([[7, 8, 9], [10, 11, 12]])[i, :2]
        assert out.tolist() == [*m[:, i + 1], *m.ravel()]


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("key, message", [("v[i:]", "variables in slice"), ("m[:, 3]", "out of bounds"), ("m[:]", "")])
def test_slices_that_no_matrix_has(key, message):
    @qd.kernel
    def of_vector(i: int):
        v = qd.Vector([1, 2, 3])
        print(v[i:])

    @qd.kernel
    def of_matrix(i: int):
        m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
        print(m[:, 3])

    @qd.kernel
    def of_rows(i: int):
        m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
        print(m[:])

    kernel = {"v[i:]": of_vector, "m[:, 3]": of_matrix, "m[:]": of_rows}[key]
    with pytest.raises(qd.QuadrantsCompilationError, match=message or "takes 2 indices or slices") as raised:
        kernel(1)
    assert key in str(raised.value) and "\nfix: " in str(raised.value) and "^" in str(raised.value)


@pytest.mark.parametrize(
    "use, message",
    [
        (lambda: Matrix([[1, 2], [3, 4], [5, 6]]).trace(), r"expected a square matrix, got shape \(3, 2\)"),
        (lambda: Matrix([[1, 2, 3], [3, 4, 5]]).determinant(), r"expected a square matrix, got shape \(2, 3\)"),
        (lambda: Vector([1, 2]).trace(), r"expected a square matrix, got shape \(2,\)"),
        (lambda: Vector([1, 2]).transpose(), "cannot apply to a vector"),
    ],
)
def test_square_and_two_dimensional_matrices_alone(use, message):
    with pytest.raises(QuadrantsTypeError, match=message):
        use()
    assert Vector([3.0, 4.0]).norm_inv() == 0.2
