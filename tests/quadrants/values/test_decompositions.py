"""Decompositions of small matrices against numpy, and the order and signs that quadrants 1.3.3 gives."""

import numpy as np
import pytest

import dsl.quadrants as qd

TYPES = {"f32": (qd.f32, np.float32, 2e-6), "f64": (qd.f64, np.float64, 1e-14)}


pytestmark = pytest.mark.usefixtures("running")


def matrices(n: int, dtype) -> np.ndarray:
    """Random ones, of other scales, singular ones of each rank, diagonal ones and zero."""
    random = np.random.default_rng(n)
    found = [random.standard_normal((n, n)) * scale for scale in (1, 1, 1, 1e-12, 1e12) for _ in range(6)]
    found += [np.outer(random.standard_normal(n), random.standard_normal(n)) for _ in range(4)]
    if n == 3:
        found += [np.outer(*random.standard_normal((2, n))) + np.outer(*random.standard_normal((2, n))) for _ in "1234"]
    return np.array([*found, np.zeros((n, n)), np.eye(n), -np.eye(n), np.diag(range(n)), np.ones((n, n))], dtype)


def field_of(values: np.ndarray, dtype):
    field = qd.Matrix.field(*values.shape[1:], dtype, values.shape[0])
    field.from_numpy(values)
    return field


def scales(values: np.ndarray) -> np.ndarray:
    largest = abs(values.astype(np.float64)).max((1, 2), keepdims=True)
    return np.where(largest == 0, 1, largest)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3])
def test_svd_and_polar_decomposition(n, name):
    dtype, of_numpy, tolerance = TYPES[name]
    given = matrices(n, of_numpy)
    a, u, s, v, r, p = (field_of(given, dtype) for _ in range(6))

    @qd.kernel
    def decompose():
        for i in a:
            u[i], s[i], v[i] = qd.svd(a[i], dtype)
            r[i], p[i] = qd.polar_decompose(a[i], dtype)

    decompose()
    u, s, v, r, p = (field.to_numpy().astype(np.float64) for field in (u, s, v, r, p))
    wide, size, one = given.astype(np.float64), scales(given), np.eye(n)
    assert (abs(u @ s @ v.transpose(0, 2, 1) - wide) / size).max() < 8 * tolerance
    for orthogonal in (u, v, r):
        assert abs(orthogonal @ orthogonal.transpose(0, 2, 1) - one).max() < 8 * tolerance
    assert (abs(r @ p - wide) / size).max() < 16 * tolerance
    assert (abs(p - p.transpose(0, 2, 1)) / size).max() < 16 * tolerance
    values = np.array([np.diag(each) for each in s])
    assert (abs(abs(values) - np.linalg.svd(wide, compute_uv=False)) / size[:, 0]).max() < 8 * tolerance
    assert (np.diff(abs(values), axis=1) <= 8 * tolerance * size[:, 0]).all()
    assert np.linalg.det(v) == pytest.approx(1)
    if n == 3:
        assert np.linalg.det(u) == pytest.approx(1)
    else:
        assert (values >= 0).all()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3, pytest.param(6, marks=pytest.mark.slow)])
def test_eigenvalues_of_symmetric_matrices(n, name):
    dtype, of_numpy, tolerance = TYPES[name]
    given = matrices(n, of_numpy)
    given = (given + given.transpose(0, 2, 1)) / 2
    a, vectors, spd = (field_of(given, dtype) for _ in range(3))
    values = qd.Vector.field(n, dtype, len(given))

    @qd.kernel
    def decompose():
        for i in a:
            values[i], vectors[i] = qd.sym_eig(a[i], dtype)
            spd[i] = qd.make_spd(a[i], dtype)

    decompose()
    found, w = values.to_numpy().astype(np.float64), vectors.to_numpy().astype(np.float64)
    wide, size = given.astype(np.float64), scales(given)
    right, columns = np.linalg.eigh(wide)
    assert (abs(found - right) / size[:, 0]).max() < 16 * tolerance
    assert (abs(wide @ w - w * found[:, None, :]) / size).max() < 16 * tolerance
    assert abs(w.transpose(0, 2, 1) @ w - np.eye(n)).max() < 16 * tolerance
    projected = (columns * np.maximum(right, 0)[:, None, :]) @ columns.transpose(0, 2, 1)
    assert (abs(spd.to_numpy() - projected) / size).max() < 32 * tolerance


@pytest.mark.parametrize("name", TYPES)
def test_eigenvalues_of_2x2_matrices(name):
    dtype, of_numpy, tolerance = TYPES[name]
    given = matrices(2, of_numpy)
    a, values = field_of(given, dtype), field_of(given, dtype)
    vectors = qd.Matrix.field(4, 2, dtype, len(given))

    @qd.kernel
    def decompose():
        for i in a:
            values[i], vectors[i] = qd.eig(a[i], dtype)

    decompose()
    parts, w = values.to_numpy().astype(np.float64), vectors.to_numpy().astype(np.float64)
    found, columns = parts[:, :, 0] + 1j * parts[:, :, 1], w[:, 0::2] + 1j * w[:, 1::2]
    wide, size = given.astype(np.float64), scales(given)
    assert (abs(wide @ columns - columns * found[:, None, :]) / size).max() < 200 * tolerance
    assert (abs(columns) ** 2).sum(1) == pytest.approx(1)
    trace, determinant = wide.trace(axis1=1, axis2=2), np.linalg.det(wide)
    assert (abs(found.sum(1) - trace) / size[:, 0, 0]).max() < 8 * tolerance
    assert (abs(found.prod(1) - determinant) / size[:, 0, 0] ** 2).max() < 16 * tolerance


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3])
def test_solve(n, name):
    dtype, of_numpy, tolerance = TYPES[name]
    given = matrices(n, of_numpy)[:30]
    right = np.random.default_rng(9).standard_normal((30, n)).astype(of_numpy)
    a, b, x = field_of(given, dtype), qd.Vector.field(n, dtype, 30), qd.Vector.field(n, dtype, 30)
    b.from_numpy(right)

    @qd.kernel
    def solve():
        for i in a:
            x[i] = qd.solve(a[i], b[i], dtype)

    solve()
    found, wide = x.to_numpy().astype(np.float64), given.astype(np.float64)
    left = abs((wide @ found[:, :, None])[:, :, 0] - right)
    assert (left.max(1) / (scales(given)[:, 0, 0] * abs(found).max(1))).max() < 16 * tolerance


def test_a_pivot_is_chosen_by_its_size():
    x = qd.Vector.field(2, qd.f64, ())

    @qd.kernel
    def solve():
        x[None] = qd.solve(qd.Matrix([[0.0, 2.0], [4.0, 1.0]]), qd.Vector([6.0, 11.0]), qd.f64)

    solve()
    assert x.to_numpy().tolist() == [2, 3]


def of_four_rows():
    u, s, v = qd.svd(qd.Matrix([[0.0] * 4] * 4))


def of_a_vector():
    values, vectors = qd.sym_eig(qd.Vector([1.0, 2.0]))


def in_an_integer_type():
    u, p = qd.polar_decompose(qd.Matrix([[1.0, 2.0], [3.0, 4.0]]), qd.i32)


def with_another_vector():
    x = qd.solve(qd.Matrix([[1.0, 2.0], [3.0, 4.0]]), qd.Vector([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    "wrong, match",
    [
        (of_four_rows, "qd.svd takes a square matrix of 2 or 3 rows, got a 4x4 matrix"),
        (of_a_vector, "qd.sym_eig takes a square matrix of up to 6 rows, got a vector of 2"),
        (in_an_integer_type, "qd.polar_decompose computes in a float type, got i32"),
        (with_another_vector, "qd.solve takes a vector of 2 with a 2x2 matrix, got a vector of 3"),
    ],
)
def test_a_wrong_matrix_is_refused(wrong, match):
    with pytest.raises(qd.QuadrantsTypeError, match=match):
        qd.kernel(wrong)()
