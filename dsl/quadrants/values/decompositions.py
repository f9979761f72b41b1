"""Decompositions of small matrices in a thread: solve, eigenvalues, singular values, polar decomposition.

Jacobi's method, whose rotations keep orthogonal factors orthogonal (Golub and Van Loan, Matrix Computations, 8.5 and
8.6). Order and signs are as quadrants 1.3.3 gives them: singular values descend, and V is a rotation. U is one for a
3x3 matrix, whose last value may be negative; for a 2x2 matrix U may reflect. The eigenvalues of a symmetric matrix
ascend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.functions.task import program
from dsl.quadrants.syntax import loops
from dsl.quadrants.syntax.iterate import Domain
from dsl.quadrants.values import dtypes as types, ops, scalar_functions
from dsl.quadrants.values.matrix import Matrix

# The public names.
__all__ = ["eig", "make_spd", "polar_decompose", "solve", "svd", "sym_eig"]

_MOST_ROWS = 6  # of a symmetric matrix, as upstream
absolute: Any = ops.abs
cast: Any = ops.cast
select: Any = ops.select
_sqrt: Any = scalar_functions.sqrt


def _square(name: str, matrix: Any, dt: Any, sizes: range) -> tuple[Any, types.DataType]:
    """A square matrix in the type to compute in. Raises QuadrantsTypeError for anything else."""
    program()
    if not isinstance(matrix, Matrix) or matrix.ndim != 2 or matrix.n != matrix.m or matrix.n not in sizes:
        raise QuadrantsTypeError.at(
            f"qd.{name} takes a square matrix of {_counts(sizes)} rows, got {described(matrix)}",
            "compute it in the program" if isinstance(matrix, Matrix) else "give it a matrix",
        )
    dtype = types.Defaults.fp if dt is None else types.existing(dt)
    if not dtype.core.is_float:
        raise QuadrantsTypeError.at(f"qd.{name} computes in a float type, got {dtype}", "qd.f32 or qd.f64")
    return cast(matrix.load(), dtype), dtype


def _sweeps(count: int, body: Callable[[], None]) -> None:
    """`body` several times, one after the other, in each thread."""

    def once(_index: Any) -> tuple:
        body()
        return ()

    with program().nested("for"):
        loops.for_(lambda: Domain([(0, count)]), once, (), (), 1, False)


def _counts(sizes: range) -> str:
    return f"up to {sizes[-1]}" if sizes[0] == 1 else " or ".join(map(str, sizes))


def _scaled(matrix: Any, dtype: types.DataType) -> tuple[Matrix, Any]:
    """A variable with the matrix over its largest entry, whose squares neither overflow nor vanish; that entry."""
    largest = matrix.map(absolute).max()
    scale = select(largest == dtype(0), dtype(1), largest)
    return (matrix / scale).variable(), scale


def _rotation(difference: Any, twice: Any, dtype: types.DataType) -> tuple[Any, Any]:
    """Cosine and sine of the smaller angle with tan(2 angle) = `twice` / `difference`."""
    zero, one = dtype(0), dtype(1)
    none = twice == zero
    tau = difference / select(none, one, twice)
    tangent = select(tau < zero, -one, one) / (absolute(tau) + _sqrt(tau * tau + one))
    tangent = select(none, zero, tangent)
    cosine = one / _sqrt(tangent * tangent + one)
    return cosine, tangent * cosine


def _rotate(matrix: Matrix, p: int, q: int, cosine: Any, sine: Any) -> None:
    """Rotate two columns of a variable."""
    for row in range(matrix.n):
        left, right = matrix[row, p].load(), matrix[row, q].load()
        matrix[row, p].store(cosine * left - sine * right)
        matrix[row, q].store(sine * left + cosine * right)


def _column(matrix: Matrix, number: int) -> Any:
    return Matrix([matrix[row, number] for row in range(matrix.n)], shape=(matrix.n,)).load()


def _of_columns(columns: list[Matrix]) -> Matrix:
    rows = columns[0].n
    return Matrix([column.entries[row] for row in range(rows) for column in columns], shape=(rows, len(columns)))


def _chosen(test: Any, one: Matrix, other: Matrix) -> Any:
    return Matrix([select(test, a, b) for a, b in zip(one.entries, other.entries)], shape=one.shape)


def sym_eig(A: Matrix, dt=None) -> tuple[Matrix, Matrix]:
    """The eigenvalues of a symmetric matrix of up to 6 rows, ascending, and its eigenvectors as columns."""
    matrix, dtype = _square("sym_eig", A, dt, range(1, _MOST_ROWS + 1))
    n, vectors = matrix.n, Matrix.identity(dtype, matrix.n).variable()
    work, scale = _scaled(matrix, dtype)

    def sweep() -> None:
        for p in range(n):
            for q in range(p + 1, n):
                twice = work[p, q].load() * dtype(2)
                cosine, sine = _rotation(work[q, q].load() - work[p, p].load(), twice, dtype)
                _rotate(work, p, q, cosine, sine)
                flipped = Matrix([work.entries[j * n + i] for i in range(n) for j in range(n)], shape=(n, n))
                _rotate(flipped, p, q, cosine, sine)
                _rotate(vectors, p, q, cosine, sine)

    _sweeps(4 + n + (2 if dtype is types.f64 else 0), sweep)
    values = [work[k, k].load() * scale for k in range(n)]
    columns = [_column(vectors, k) for k in range(n)]
    for end in range(n - 1, 0, -1):
        for k in range(end):
            swap = values[k] > values[k + 1]
            values[k], values[k + 1] = (select(swap, values[k + 1], values[k]), select(swap, values[k], values[k + 1]))
            columns[k], columns[k + 1] = (
                _chosen(swap, columns[k + 1], columns[k]),
                _chosen(swap, columns[k], columns[k + 1]),
            )
    return Matrix(values, shape=(n,)), _of_columns(columns)


def make_spd(A: Matrix, dt=None) -> Matrix:
    """The positive semi-definite matrix next to a symmetric one: its negative eigenvalues become 0."""
    values, vectors = sym_eig(A, dt)
    kept = [scalar_functions.maximum(value, value * 0) for value in values.entries]
    n = values.n
    scaled = Matrix([vectors[i, k] * kept[k] for i in range(n) for k in range(n)], shape=(n, n))
    return scaled @ vectors.transpose()


def svd(A: Matrix, dt=None) -> tuple[Matrix, Matrix, Matrix]:
    """U, S and V of a matrix of 2 or 3 rows, A = U @ S @ V.transpose(), with S diagonal and descending."""
    matrix, dtype = _square("svd", A, dt, range(2, 4))
    n, zero = matrix.n, dtype(0)
    work, scale = _scaled(matrix, dtype)
    v = Matrix.identity(dtype, n).variable()

    def sweep() -> None:
        for p in range(n):
            for q in range(p + 1, n):
                left, right = _column(work, p), _column(work, q)
                twice = left.dot(right) * dtype(2)
                cosine, sine = _rotation(right.norm_sqr() - left.norm_sqr(), twice, dtype)
                _rotate(work, p, q, cosine, sine)
                _rotate(v, p, q, cosine, sine)

    _sweeps((4 if n == 2 else 6) + (2 if dtype is types.f64 else 0), sweep)
    lefts, rights = [_column(work, k) for k in range(n)], [_column(v, k) for k in range(n)]
    for end in range(n - 1, 0, -1):
        for k in range(end):  # a swap of columns that rotates: one changes its sign
            swap = lefts[k].norm_sqr() < lefts[k + 1].norm_sqr()
            for columns in (lefts, rights):
                a, b = columns[k], columns[k + 1]
                columns[k], columns[k + 1] = _chosen(swap, b, a), _chosen(swap, -a, b)
    first: Any = _unit(lefts[0], Matrix([1] + [0] * (n - 1), dtype), dtype)
    if n == 2:
        second: Any = Matrix([-first.entries[1], first.entries[0]], shape=(2,))
        second = _chosen(second.dot(lefts[1]) < zero, -second, second)
        lasts = [first, second]
    else:
        x, y, z = (absolute(entry) for entry in first.entries)
        axis = _chosen(
            (x <= y) & (x <= z),
            Matrix([1, 0, 0], dtype),
            _chosen(y <= z, Matrix([0, 1, 0], dtype), Matrix([0, 0, 1], dtype)),
        )
        across = _unit(first.cross(axis), axis, dtype)
        second = _unit(lefts[1] - first * first.dot(lefts[1]), across, dtype)
        second = _unit(second - first * first.dot(second), across, dtype)
        lasts = [first, second, first.cross(second)]
    values = [left.dot(last) * scale for left, last in zip(lefts, lasts)]
    diagonal = Matrix([values[i] if i == j else zero for i in range(n) for j in range(n)], shape=(n, n))
    return _of_columns(lasts), diagonal, _of_columns(rights)


def _unit(vector: Any, otherwise: Matrix, dtype: types.DataType) -> Any:
    """A vector of length 1; `otherwise` for one so short that its direction is rounding, in a matrix scaled to 1."""
    largest = vector.map(absolute).max()
    shortest = {types.f16: 4e-3, types.f32: 5e-7, types.f64: 1e-15}[dtype]  # about 4 units in the last place of 1
    short = largest < dtype.core(shortest)  # not by way of the default float type
    scaled = vector / select(short, dtype(1), largest)
    return _chosen(short, otherwise, scaled / select(short, dtype(1), scaled.norm()))


def polar_decompose(A: Matrix, dt=None) -> tuple[Matrix, Matrix]:
    """U and P of a matrix of 2 or 3 rows, A = U @ P, with U orthogonal and P symmetric."""
    matrix, dtype = _square("polar_decompose", A, dt, range(2, 4))
    u, s, v = svd(matrix, dtype)
    return u @ v.transpose(), v @ s @ v.transpose()


def eig(A: Matrix, dt=None) -> tuple[Matrix, Matrix]:
    """The eigenvalues of a 2x2 matrix, a row (real, imaginary) each, and its eigenvectors of length 1 as columns.

    A column has 4 entries, the real and the imaginary part of either component.
    """
    matrix, dtype = _square("eig", A, dt, range(2, 3))
    zero, one, half = dtype(0), dtype(1), dtype(0.5)
    a, b, c, d = matrix.entries
    middle, spread = (a + d) * half, (a - d) * half
    square = spread * spread + b * c
    is_real = square >= zero
    root = _sqrt(absolute(square))
    columns, rows = [], []
    for sign in (one, -one):
        change = sign * root
        rows.append([select(is_real, middle + change, middle), select(is_real, zero, change)])
        # (A - value) is 0 for (b, value - a) and for (value - d, c): the longer of both; any vector if both are 0.
        real, imaginary = select(is_real, change, zero), select(is_real, zero, change)
        one_way = [b, zero, real - spread, imaginary]
        other_way = [real + spread, imaginary, c, zero]
        longer = _length_sqr(one_way) >= _length_sqr(other_way)
        column = [select(longer, left, right) for left, right in zip(one_way, other_way)]
        none = _length_sqr(column) == zero
        axis = [one, zero, zero, zero] if sign is one else [zero, zero, one, zero]
        column = [select(none, part, entry) for part, entry in zip(axis, column)]
        length = _sqrt(_length_sqr(column))
        columns.append(Matrix([entry / length for entry in column], shape=(4,)))
    return Matrix(rows), _of_columns(columns)


def _length_sqr(entries: list) -> Any:
    total = entries[0] * entries[0]
    for entry in entries[1:]:
        total = total + entry * entry
    return total


def solve(A: Matrix, b: Matrix, dt=None) -> Matrix:
    """x of A @ x = b for a matrix of 2 or 3 rows, by elimination with the largest pivot of each column.

    With debug=True a singular matrix fails an assertion, as upstream; else the result is inf or nan.
    """
    matrix, dtype = _square("solve", A, dt, range(2, 4))
    n = matrix.n
    if not isinstance(b, Matrix) or b.shape != (n,):
        raise QuadrantsTypeError.at(
            f"qd.solve takes a vector of {n} with a {n}x{n} matrix, got {described(b)}", f"give a vector of {n}"
        )
    right = cast(b.load(), dtype)
    rows = [[*matrix.entries[i * n : (i + 1) * n], right.entries[i]] for i in range(n)]
    for k in range(n):
        for below in range(k + 1, n):
            larger = absolute(rows[below][k]) > absolute(rows[k][k])
            rows[k], rows[below] = (
                [select(larger, other, one) for one, other in zip(rows[k], rows[below])],
                [select(larger, one, other) for one, other in zip(rows[k], rows[below])],
            )
        for below in range(k + 1, n):
            factor = rows[below][k] / rows[k][k]
            rows[below] = [other - factor * one for one, other in zip(rows[k], rows[below])]
    solution: list = []
    for k in reversed(range(n)):
        known = rows[k][n]
        for entry, value in zip(rows[k][k + 1 : n], solution):
            known = known - entry * value
        solution.insert(0, known / rows[k][k])
    return Matrix(solution, shape=(n,))
