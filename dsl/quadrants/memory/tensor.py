"""`qd.tensor`: a field or an array in one class, `qd.Tensor`, which also annotates an argument that may be either.

`layout` tells upstream how to nest the axes in memory. Here every field and array is row-major, so a layout is checked
and kept, and changes neither values nor indices.
Source: Quadrants user guide, Tensors.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from dsl.core.phrase import shown
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import WrongType, WrongValue
from dsl.quadrants.functions.signature import shape_of
from dsl.quadrants.memory.dense import Dense
from dsl.quadrants.memory.field import Field, field, matrix_field
from dsl.quadrants.memory.ndarray import matrix_ndarray, ndarray
from dsl.quadrants.values import dtypes as types


class Backend(enum.IntEnum):
    """The memory of a tensor: a field, which is part of a kernel's code, or an array, which every call brings."""

    FIELD = 0
    NDARRAY = 1


class Tensor:
    """A field or an array. In a kernel it is used as that is: `x[i]`, `x.shape`, `for i in x`.

    `Tensor(impl)` raises TypeError for anything but a bare field or array.
    """

    grad = None  # automatic differentiation is not supported

    def __init__(self, impl: Dense, layout: tuple[int, ...] | None = None):
        if not isinstance(impl, Dense):
            raise WrongType(f"qd.Tensor requires a field or an array, got {described(impl)}", "make it by qd.tensor()")
        self._impl, self._layout = impl, layout

    def _unwrap(self) -> Dense:
        return self._impl

    @property
    def layout(self) -> tuple[int, ...] | None:
        """The axes from the outermost in memory, None in order."""
        return self._layout

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self._impl.shape

    @property
    def dtype(self) -> types.DataType:
        return self._impl.dtype

    @property
    def element_shape(self) -> tuple[int, ...]:
        return self._impl.element_shape

    @property
    def backend(self) -> Backend:
        return Backend.FIELD if isinstance(self._impl, Field) else Backend.NDARRAY

    def has_grad(self) -> bool:
        return False

    has_dual = has_grad

    def in_words(self) -> str:
        """The tensor in the words of an error."""
        return "a tensor"

    def __getitem__(self, key: Any) -> Any:
        return self._impl[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._impl[key] = value

    def __iter__(self):
        return iter(self._impl)

    def __len__(self) -> int:
        return len(self._impl)

    def loop_domain(self):
        return self._impl.loop_domain()

    def fill(self, val: Any) -> None:
        """Give every element this value."""
        self._impl.fill(val)

    def copy_from(self, other: Tensor | Dense) -> None:
        """Copy the values of a tensor of this shape and backend."""
        bare = bare_of(other)
        if isinstance(bare, Dense) and isinstance(bare, Field) != isinstance(self._impl, Field):
            raise WrongType(
                f"a tensor is copied from one of its backend, {self.backend.name}", "x.from_numpy(y.to_numpy())"
            )
        self._impl.copy_from(bare)

    def to_numpy(self, dtype=None, *, copy: bool | None = True, **options):
        """The values as a numpy array (docs/quadrants.md, Tensors)."""
        return self._impl.to_numpy(dtype=dtype, copy=copy, **options)

    def from_numpy(self, arr) -> None:
        """Copy the values of a numpy array of this shape."""
        self._impl.from_numpy(arr)

    def to_torch(self, device=None, *, copy: bool | None = True, **options):
        """The values as a torch tensor."""
        return self._impl.to_torch(device=device, copy=copy, **options)

    def from_torch(self, arr) -> None:
        """Copy the values of a torch tensor of this shape."""
        self._impl.from_torch(arr)

    def to_dlpack(self):
        """A DLPack capsule of the values, not copied."""
        return self.to_numpy(copy=False).__dlpack__()

    def __reduce__(self):
        return _restored, (
            int(self.backend),
            self.dtype,
            self.element_shape,
            self.shape,
            self._layout,
            self.to_numpy(keep_dims=True) if self.element_shape else self.to_numpy(),
        )

    def __repr__(self) -> str:
        return f"<qd.{type(self).__name__} {self.backend.name} {self.dtype} {self.shape} layout={self._layout}>"

    __hash__ = object.__hash__


class VectorTensor(Tensor):
    """A tensor of vectors."""


class MatrixTensor(Tensor):
    """A tensor of matrices."""


def bare_of(value: Any) -> Any:
    """The field or array of a tensor; other values as they are."""
    return value._impl if isinstance(value, Tensor) else value


def wrap(impl: Dense, layout: tuple[int, ...] | None = None) -> Tensor:
    """The tensor of a field or an array. Raises TypeError for anything else."""
    rank = len(impl.element_shape) if isinstance(impl, Dense) else 0
    return (Tensor, VectorTensor, MatrixTensor)[rank](impl, layout)


def tensor(dtype, shape, *, backend=Backend.NDARRAY, layout=None, needs_grad: bool = False, **unknown) -> Tensor:
    """A zeroed tensor of `dtype`, a number, vector or matrix type."""
    compound = hasattr(dtype, "element_shape")
    _refuse_options("qd.tensor", unknown)
    layout = _layout(layout, len(shape_of(shape, "array")), compound)
    return wrap(_backend(backend, field, ndarray)(dtype, shape, needs_grad=_needs_grad(dtype, needs_grad)), layout)


def matrix_tensor(
    name: str, element_shape: tuple[int, ...], dtype, shape, *, backend=Backend.NDARRAY, needs_grad=False, **unknown
) -> Tensor:
    """A zeroed tensor of vectors (n,) or matrices (n, m). `name`: of the function that the author calls."""
    _refuse_options(name, unknown)
    make = _backend(backend, matrix_field, matrix_ndarray)
    return wrap(make(element_shape, dtype, shape, needs_grad=_needs_grad(dtype, needs_grad)))


def _backend(backend: Any, of_field: Callable, of_array: Callable) -> Callable:
    if not isinstance(backend, int) or backend not in tuple(Backend):
        raise WrongValue(f"backend= is a qd.Backend, got {shown(backend)}", "backend=qd.Backend.FIELD")
    return of_field if backend == Backend.FIELD else of_array


def _refuse_options(name: str, unknown: dict[str, Any]) -> None:
    if "order" in unknown:
        raise WrongType(
            f"{name} does not accept order=", "leave it out; qd.tensor has layout=, the axes from the outermost"
        )
    if unknown:
        raise WrongType(
            f"{name} got an unexpected keyword {next(iter(unknown))}", "qd.field and qd.ndarray have more options"
        )


def _needs_grad(dtype: Any, needs_grad: bool) -> bool:
    """Integers never have a gradient."""
    element = types.of(getattr(dtype, "dtype", dtype))
    return bool(needs_grad) and element is not None and element.core.is_float


def _layout(layout: Any, rank: int, compound: bool) -> tuple[int, ...] | None:
    """A layout as a tuple, None where the axes are in order."""
    if layout is None:
        return None
    if compound:
        raise WrongType(
            "qd.tensor: layout= is not supported for compound element types", "drop it: it does not change values"
        )
    axes = tuple(layout)
    if len(axes) != rank:
        raise WrongValue(f"layout has {len(axes)} axes, the shape {rank}", f"name each of {tuple(range(rank))} once")
    if sorted(axes) != list(range(rank)):
        raise WrongValue(f"layout {axes} is not a permutation of the axes", f"name each of {tuple(range(rank))} once")
    return None if axes == tuple(range(rank)) else axes


def _restored(backend: int, dtype: types.DataType, element_shape: tuple, shape: tuple, layout: Any, array) -> Tensor:
    """The tensor of a pickle."""
    if element_shape:
        made = matrix_tensor("qd.tensor", element_shape, dtype, shape, backend=Backend(backend))
    else:
        made = tensor(dtype, shape, backend=Backend(backend), layout=layout)
    made.from_numpy(array)
    return made
