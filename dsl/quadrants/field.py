"""Fields: global arrays of fixed shape, and the tree that places them."""

from __future__ import annotations


from dsl.quadrants import runtime
from dsl.quadrants.dense import Dense
from dsl.quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError


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


class ScalarField(Field):
    """A field of numbers."""


class MatrixField(Field):
    """A field of vectors or matrices."""


def _shaped(shape: object) -> tuple[int, ...] | None:
    if shape is None:
        return None
    return tuple(int(extent) for extent in shape) if hasattr(shape, "__iter__") else (int(shape),)


def field(dtype, shape=None, order=None, name: str = "", offset=None, needs_grad: bool = False, **_options) -> Field:
    """A field of numbers of `dtype`, zeroed; without a shape it waits for `place`."""
    return _made(ScalarField, dtype, shape, (), offset, needs_grad)


def matrix_field(element_shape: tuple[int, ...], dtype, shape=None, order=None, name: str = "", offset=None,
                 needs_grad: bool = False, **_options) -> Field:
    """A field whose elements are vectors (n,) or matrices (n, m)."""
    return _made(MatrixField, dtype, shape, element_shape, offset, needs_grad)


def _made(kind: type, dtype, shape, element_shape: tuple, offset, needs_grad: bool) -> Field:
    if runtime.Runtime.config is None:
        raise QuadrantsRuntimeError("fields are made after qd.init()")
    if needs_grad:
        raise QuadrantsRuntimeError("needs_grad is not supported: there is no automatic differentiation here")
    made = kind(dtype, _shaped(shape), element_shape)
    if offset is not None:
        made.offset = _shaped(offset)
        if made.shape is None:
            raise QuadrantsCompilationError("The shape cannot be None when offset is being set")
        if len(made.offset) != len(made.shape):
            raise QuadrantsCompilationError("The dimensionality of shape and offset must be the same "
                                            f"({len(made.shape)} != {len(made.offset)})")
    return made


class Axes(tuple):
    """Axes by number: qd.i is (0,), qd.ij (0, 1)."""


i, j, k, l = (Axes((axis,)) for axis in range(4))
ij, ik, il, jk, jl, kl = (Axes(pair) for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))
ijk, ijl, ikl, jkl, ijkl = (Axes(found) for found in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 1, 2, 3)))


def axes(*numbers: int) -> Axes:
    return Axes(numbers)


class SNode:
    """A node of the tree that places fields. Every field is dense here, whatever layout the tree says."""

    def __init__(self, extents: dict[int, int]):
        self.extents = extents

    def dense(self, axes: Axes, dimensions) -> SNode:
        """`dimensions` cells along each of `axes` in every cell of this node."""
        sizes = list(map(int, dimensions)) if hasattr(dimensions, "__iter__") else [int(dimensions)] * len(axes)
        if len(sizes) != len(axes):
            raise QuadrantsRuntimeError(f"axes and dimensions differ in number: {len(axes)} and {len(sizes)}")
        extents = dict(self.extents)
        for axis, size in zip(axes, sizes):
            extents[axis] = extents.get(axis, 1) * size
        return SNode(extents)

    def place(self, *fields, offset=None) -> SNode:
        """Give fields their shape: the extents along the axes of this node."""
        shape = tuple(self.extents[axis] for axis in sorted(self.extents))
        for found in fields:
            for one in found if isinstance(found, (list, tuple)) else (found,):
                if not isinstance(one, Field):
                    raise ValueError(f"{one} cannot be placed")
                if one.shape is not None:
                    raise RuntimeError("this field has been placed before")
                one.shape = shape
                if offset is not None:
                    one.offset = _shaped(offset)
        return self

    def lazy_grad(self) -> None:
        """Nothing: no field here has a gradient."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents[axis] for axis in sorted(self.extents))

    def _unsupported(self, *_arguments, **_options):
        raise QuadrantsRuntimeError("sparse and bit-packed layouts are not supported: fields are dense here\n"
                                    "fix: use dense(...)")

    pointer = bitmasked = hash = dynamic = quant_array = _unsupported


root = SNode({})
