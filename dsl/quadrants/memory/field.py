"""Fields: global arrays of fixed shape, and the tree that places them."""

from __future__ import annotations

import numbers
from typing import Any

from dsl.core.phrase import shown
from dsl.quadrants import runtime
from dsl.quadrants.errors.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsTypeError, WrongValue
from dsl.quadrants.functions.signature import MOST_AXES, checked, element_shape_of, order_of, shape_of
from dsl.quadrants.functions.task import active
from dsl.quadrants.memory.dense import Dense, refuse_gradients, refuse_in_kernel


class Field(Dense):
    """A field; `shape` is None until it is placed."""

    grad = None

    @property
    def n(self) -> int:
        return self.element_shape[0]

    @property
    def m(self) -> int:
        return self.element_shape[1] if len(self.element_shape) > 1 else 1

    @property
    def parent_shape(self):
        return self.shape

    def __str__(self) -> str:
        if self.shape is None or active():
            return repr(self)
        return str(self.to_numpy())

    def give_back(self) -> None:
        """Free its memory. A kernel that was compiled with it is compiled again when it is called."""
        self._memory = None
        runtime.Runtime.epoch += 1
        self.unusable = "this field is gone: its SNode tree has been destroyed", "make another field"


class ScalarField(Field):
    """A field of numbers."""


class MatrixField(Field):
    """A field of vectors or matrices."""


def _offset(offset: Any) -> tuple[int, ...]:
    parts = tuple(offset) if hasattr(offset, "__iter__") and not isinstance(offset, str) else (offset,)
    if not all(isinstance(part, numbers.Integral) for part in parts):
        raise QuadrantsTypeError.at(
            f"an offset is an integer or a tuple of integers, got {shown(offset)}", "offset=(-4, 0)"
        )
    return tuple(map(int, parts))


@checked
def field(
    dtype,
    shape=None,
    order=None,
    name: str = "",
    offset=None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout=None,
) -> Field:
    """A field of `dtype` (a number, vector or matrix type), zeroed; without a shape it waits for `place`."""
    if hasattr(dtype, "element_shape"):
        return _new_field(MatrixField, dtype.dtype, shape, dtype.element_shape, order, offset, needs_grad)
    return _new_field(ScalarField, dtype, shape, (), order, offset, needs_grad)


def matrix_field(
    element_shape: tuple[int, ...],
    dtype,
    shape=None,
    order=None,
    name: str = "",
    offset=None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout=None,
    ndim=None,
) -> Field:
    """A field whose elements are vectors (n,) or matrices (n, m)."""
    return _new_field(MatrixField, dtype, shape, element_shape_of(element_shape), order, offset, needs_grad)


def _new_field(kind: type, dtype, shape, element_shape: tuple, order, offset, needs_grad: bool) -> Field:
    refuse_in_kernel("qd.field")
    if runtime.Runtime.config is None:
        raise QuadrantsRuntimeError("fields are made after qd.init()", "call qd.init(arch=qd.cpu) first")
    if needs_grad:
        refuse_gradients()
    field = kind(dtype, None if shape is None else shape_of(shape, "field"), element_shape)
    if order is not None and field.shape is not None:
        order_of(order, len(field.shape))
    if offset is not None:
        field.offset = _offset(offset)
        if field.shape is None:
            raise QuadrantsCompilationError(
                "The shape cannot be None when offset is being set",
                "give shape= too, or the offset to place(x, offset=...)",
            )
        if len(field.offset) != len(field.shape):
            raise QuadrantsCompilationError(
                f"The dimensionality of shape and offset must be the same ({len(field.shape)} != {len(field.offset)})",
                "give an offset for each dimension",
            )
    return field


class Axes(tuple):
    """Axes by number: qd.i is (0,), qd.ij (0, 1)."""


i, j, k, l = (Axes((axis,)) for axis in range(4))  # noqa: E741 - upstream's names
ij, ik, il, jk, jl, kl = (Axes(pair) for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))
ijk, ijl, ikl, jkl, ijkl = (Axes(found) for found in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 1, 2, 3)))


def axes(*x: int) -> Axes:
    """Axes by number, 0 to 11."""
    wrong = next((axis for axis in x if type(axis) is not int or not 0 <= axis < MOST_AXES), None)
    if wrong is not None:
        raise QuadrantsTypeError.at(
            f"an axis is a number from 0 to {MOST_AXES - 1}, got {shown(wrong)}", "qd.axes(0, 1)"
        )
    return Axes(x)


def _each_of(placed: Any) -> list:
    """The fields of numbers, vectors and matrices of an argument of `place`: a list has several, a StructField too."""
    if isinstance(placed, (list, tuple)):
        return [field for part in placed for field in _each_of(part)]
    return placed.leaves() if hasattr(placed, "leaves") else [placed]


class SNode:
    """A node of the tree that places fields. Every field is dense here, whatever layout the tree describes."""

    def __init__(self, extents: dict[int, int], placed: list[Field] | None = None):
        self.extents, self.placed = extents, placed  # `placed`: where a FieldsBuilder keeps its fields

    def dense(self, axes: Axes, dimensions) -> SNode:
        """`dimensions` cells along each of `axes` in every cell of this node."""
        sizes = list(shape_of(dimensions, "field"))
        sizes = sizes * len(axes) if len(sizes) == 1 else sizes
        if len(sizes) != len(axes):
            raise QuadrantsRuntimeError(
                f"axes and dimensions must be of one number, got {len(axes)} and {len(sizes)}",
                "give a number of cells for each axis",
            )
        extents = dict(self.extents)
        for axis, size in zip(axes, sizes):
            extents[axis] = extents.get(axis, 1) * size
        return SNode(extents, self.placed)

    def place(self, *fields, offset=None) -> SNode:
        """Give fields their shape: the extents along the axes of this node."""
        shape = tuple(self.extents[axis] for axis in sorted(self.extents))
        for placed in fields:
            for one in _each_of(placed):
                if not isinstance(one, Field):
                    raise WrongValue(f"{one} cannot be placed", "place what qd.field(dtype) gives")
                if one.shape is not None:
                    raise QuadrantsRuntimeError(
                        "this field has been placed before",
                        "place it once: qd.field(dtype) without shape=, then place(x)",
                    )
                one.shape = shape
                if self.placed is not None:
                    self.placed.append(one)
                    one.unusable = "this field's FieldsBuilder is not finalized", "call finalize() of it first"
                if offset is not None:
                    one.offset = _offset(offset)
        return self

    def lazy_grad(self) -> None:
        """Do nothing: no field here has a gradient."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents[axis] for axis in sorted(self.extents))

    def _unsupported(self, *_arguments, **_options):
        raise QuadrantsRuntimeError(
            "sparse and bit-packed layouts are not supported: fields are dense here", "use dense(...)"
        )

    pointer = bitmasked = hash = dynamic = quant_array = _unsupported


root = SNode({})
