"""Arrays that are passed to kernels (qd.ndarray, numpy, torch), and their views in a kernel."""

from __future__ import annotations

import math
from typing import Any

from dsl.core.number.dtypes import Int32, Int64
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.quadrants import runtime
from dsl.quadrants.errors.errors import QuadrantsCompilationError, QuadrantsRuntimeError
from dsl.quadrants.functions.signature import checked, element_shape_of, shape_of
from dsl.quadrants.functions.task import program
from dsl.quadrants.memory.dense import Dense, Indexed, refuse_gradients, refuse_in_kernel
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.matrix import refuse_negative


class Ndarray(Dense):
    """An array on the device."""

    label = "ndarray"

    def in_words(self) -> str:
        return "an ndarray"

    def base(self) -> Pointer:
        raise QuadrantsCompilationError.at(
            "a kernel uses this ndarray without being given it: it may be another one, or gone, at the next call",
            fix="pass it as an argument annotated qd.types.ndarray(), or as a member of a @qd.data_oriented object",
        )

    def __reduce__(self):
        return _restored, (self.element_shape, self.element_type, self.shape, self.to_numpy(keep_dims=True))


class ScalarNdarray(Ndarray):
    """An array of numbers."""


class MatrixNdarray(Ndarray):
    """An array of vectors or matrices: of `n` rows and `m` columns."""

    n = property(lambda self: self.element_shape[0])
    m = property(lambda self: self.element_shape[1] if len(self.element_shape) > 1 else 1)


@checked
def ndarray(dtype, shape, needs_grad: bool = False, layout=None) -> Ndarray:
    """An array of `dtype` (a number, vector or matrix type), zeroed."""
    if hasattr(dtype, "element_shape"):
        return matrix_ndarray(dtype.element_shape, dtype.dtype, shape, needs_grad)
    return _new_array(ScalarNdarray, dtype, shape, (), needs_grad)


def matrix_ndarray(element_shape: tuple[int, ...], dtype, shape, needs_grad: bool = False) -> Ndarray:
    return _new_array(MatrixNdarray, dtype, shape, element_shape_of(element_shape), needs_grad)


def _new_array(kind: type, dtype, shape, element_shape: tuple, needs_grad: bool) -> Ndarray:
    refuse_in_kernel("qd.ndarray")
    if needs_grad:
        refuse_gradients()
    if runtime.Runtime.config is None:
        raise QuadrantsRuntimeError("arrays are made after qd.init()", "call qd.init(arch=qd.cpu) first")
    return kind(dtype, shape_of(shape, "array"), element_shape)


def _restored(element_shape: tuple[int, ...], dtype: types.DataType, shape: tuple[int, ...], values) -> Ndarray:
    """The array of a pickle."""
    array = matrix_ndarray(element_shape, dtype, shape) if element_shape else ndarray(dtype, shape)
    array.from_numpy(values)
    return array


class ArrayView(Indexed):
    """An array argument while tracing: its extents are run-time values."""

    def __init__(
        self,
        pointer: Pointer,
        dtype: types.DataType,
        shape: tuple,
        strides: tuple | None,
        element_shape: tuple[int, ...],
    ):
        self.address, self.element_type, self.shape, self.strides = pointer, dtype, shape, strides
        self.element_shape = element_shape

    @property
    def dtype(self) -> types.DataType:
        return self.element_type

    def base(self) -> Pointer:
        program().task  # noqa: B018 - a host cannot read it
        return self.address

    def __getitem__(self, key: Any) -> Any:
        refuse_negative(key if isinstance(key, tuple) else (key,))
        return self.element(key)

    __hash__ = object.__hash__


class ArrayType:
    """The slots of an array argument: a pointer, an extent an axis and, where it is not row-major, a stride an axis."""

    def __init__(self, dtype: types.DataType, rank: int, element_shape: tuple[int, ...], row_major: bool):
        self.dtype, self.rank, self.element_shape, self.row_major = dtype, rank, element_shape, row_major

    def slot_formats(self) -> str:
        return "P" + "i" * self.rank + ("" if self.row_major else "q" * self.rank)

    def rebuild(self, values) -> ArrayView:
        pointer = Pointer(self.dtype.core, values[0], AddressSpace.gmem)
        shape = tuple(map(Int32, values[1 : 1 + self.rank]))
        strides = None if self.row_major else tuple(map(Int64, values[1 + self.rank :]))
        return ArrayView(pointer, self.dtype, shape, strides, self.element_shape)


def row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether `strides` (in elements) belong to an array without gaps whose last index is the fastest."""
    if 0 in shape:
        return True  # without elements
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


def span_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements between the first and the last one, both included."""
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)) if math.prod(shape) else 0
