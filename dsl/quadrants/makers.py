"""`qd.Vector`, and what `qd.Matrix` makes that is above a matrix: fields and arrays of vectors and matrices."""

from __future__ import annotations

from typing import Any

from dsl.quadrants.field import Field, matrix_field
from dsl.quadrants.matrix import Matrix, Vector
from dsl.quadrants.ndarray import Ndarray, matrix_ndarray
from dsl.quadrants.signature import checked


class _VectorMaker:
    """`qd.Vector`: makes matrices of one dimension."""

    @checked
    def __call__(self, arr, dt=None) -> Matrix:
        return Vector(arr, dt)

    @staticmethod
    @checked
    def field(
        n,
        dtype,
        shape=None,
        order=None,
        name="",
        offset=None,
        needs_grad=False,
        needs_dual=False,
        layout=None,
        ndim=None,
    ) -> Field:
        return matrix_field((n,), dtype, shape, order, name, offset, needs_grad)

    @staticmethod
    @checked
    def ndarray(n, dtype, shape, needs_grad=False) -> Ndarray:
        return matrix_ndarray((n,), dtype, shape)

    zero, one, unit = staticmethod(Matrix.zero), staticmethod(Matrix.one), staticmethod(Matrix.unit)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Matrix)


vector_maker = _VectorMaker()


class _MatrixMaker:
    """The functions of `qd.Matrix` that make fields and arrays."""

    @staticmethod
    @checked
    def field(
        n,
        m,
        dtype,
        shape=None,
        order=None,
        name="",
        offset=None,
        needs_grad=False,
        needs_dual=False,
        layout=None,
        ndim=None,
    ) -> Field:
        return matrix_field((n, m), dtype, shape, order, name, offset, needs_grad)

    @staticmethod
    @checked
    def ndarray(n, m, dtype, shape, needs_grad=False) -> Ndarray:
        return matrix_ndarray((n, m), dtype, shape)


Matrix.field, Matrix.ndarray = _MatrixMaker.field, _MatrixMaker.ndarray
