"""`qd.Vector`, `qd.Matrix` and `qd.Struct`: makers of vectors, matrices and structs, and of fields and arrays of them.

The classes of the values are matrix.Matrix and structure.Struct; `isinstance` of a maker asks for them.
"""

from __future__ import annotations

from typing import Any

from dsl.quadrants.functions.signature import checked
from dsl.quadrants.functions.struct_types import StructType
from dsl.quadrants.memory.field import Field, matrix_field
from dsl.quadrants.memory.ndarray import Ndarray, matrix_ndarray
from dsl.quadrants.memory.struct_field import StructField
from dsl.quadrants.memory.tensor import Tensor, matrix_tensor
from dsl.quadrants.values import matrix, structure


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
        return matrix_ndarray((n,), dtype, shape, needs_grad)

    @staticmethod
    def tensor(n, dtype, shape, **options) -> Tensor:
        return matrix_tensor("qd.Vector.tensor", (n,), dtype, shape, **options)

    zero = staticmethod(matrix.Matrix.zero)
    one = staticmethod(matrix.Matrix.one)
    unit = staticmethod(matrix.Matrix.unit)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, matrix.Matrix)


vector_maker = _VectorMaker()


class _Maker(type):
    """A maker's own class: every value of the class that it makes is an instance of the maker."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.__bases__[0])


class Matrix(matrix.Matrix, metaclass=_Maker):
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
        return matrix_ndarray((n, m), dtype, shape, needs_grad)

    @staticmethod
    def tensor(n, m, dtype, shape, **options) -> Tensor:
        return matrix_tensor("qd.Matrix.tensor", (n, m), dtype, shape, **options)


class Struct(structure.Struct, metaclass=_Maker):
    """`qd.Struct`: makes structs. Every struct is an instance of it."""

    def __new__(cls, *members: Any, **named: Any) -> structure.Struct:
        return structure.Struct(*members, **named)

    @staticmethod
    def field(
        members, methods=None, shape=None, name="<Struct>", offset=None, needs_grad=False, needs_dual=False, layout=None
    ) -> StructField:
        """A field of structs with these members, a type by name."""
        return StructType("", members, methods or {}).field(shape, offset=offset, needs_grad=needs_grad)
