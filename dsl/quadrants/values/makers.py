"""`qd.Vector` and `qd.Matrix`: makers of vectors and matrices, and of fields and arrays of them.

The class of the values is matrix.Matrix; `isinstance` of either maker asks for it.
"""

from __future__ import annotations

from typing import Any

from dsl.quadrants.functions.signature import checked
from dsl.quadrants.memory.field import Field, matrix_field
from dsl.quadrants.memory.ndarray import Ndarray, matrix_ndarray
from dsl.quadrants.values import matrix


class _VectorMaker:
    """`qd.Vector`: makes matrices of one dimension."""

    @checked
    def __call__(self, arr, dt=None) -> matrix.Matrix:
        return matrix.Vector(arr, dt)

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

    zero = staticmethod(matrix.Matrix.zero)
    one = staticmethod(matrix.Matrix.one)
    unit = staticmethod(matrix.Matrix.unit)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, matrix.Matrix)


vector_maker = _VectorMaker()


class _AnyMatrix(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, matrix.Matrix)


class Matrix(matrix.Matrix, metaclass=_AnyMatrix):
    """`qd.Matrix`: makes matrices, and vectors of a list of numbers. Every matrix is an instance of it."""

    def __new__(cls, arr, dt=None) -> matrix.Matrix:
        return matrix.Matrix(arr, dt)

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
