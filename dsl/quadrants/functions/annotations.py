"""Annotations of kernel and func parameters, and how an argument of each kind is recognised and passed.

A kind has `key(value)`, what of an argument the compiled code depends on, `typed(value)`, how it is traced, and
`read(value, slots, storages)`, what a call brings.
"""

from __future__ import annotations

import sys
from typing import Any

from dsl.core.number.dtypes import Numeric
from dsl.launch.argument import dlpack
from dsl.launch.argument.abi import ScalarType
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import (
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
    WrongType,
    WrongValue,
)
from dsl.quadrants.functions.signature import checked, element_shape_of
from dsl.quadrants.memory.dense import Dense
from dsl.quadrants.memory.field import matrix_field
from dsl.quadrants.memory.ndarray import ArrayType, Ndarray, matrix_ndarray, row_major, span_of
from dsl.quadrants.memory.tensor import bare_of
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.matrix import Matrix


class Template:
    """Annotation of an argument that is part of the code: known while compiling, one compilation a value."""

    @checked
    def __init__(self, element_type=None, ndim=None):
        return

    def __class_getitem__(cls, _item):
        return cls


def ref(tp: Any) -> Template:
    """Annotation of a real_func's argument that is passed by reference."""
    return Template()


class NdarrayAnnotation:
    """`qd.types.ndarray(dtype=, ndim=)`: an array of qd.ndarray, numpy or torch."""

    @checked
    def __init__(
        self,
        dtype=None,
        ndim=None,
        element_dim=None,
        element_shape=None,
        field_dim=None,
        needs_grad=None,
        boundary="unsafe",
    ):
        self.element_shape = tuple(element_shape) if element_shape is not None else None
        if isinstance(dtype, MatrixAnnotation):
            self.element_shape, dtype = dtype.element_shape, dtype.dtype
        self.dtype, self.ndim = types.of(dtype) if dtype is not None else None, ndim

    def __class_getitem__(cls, item):
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return cls(dtype, ndim)

    def in_words(self) -> str:
        """The annotation in the words of an error."""
        return "a type of arrays"


class MatrixAnnotation:
    """`qd.types.vector(n, dtype)` and `qd.types.matrix(n, m, dtype)`; called, it makes a value of that shape."""

    def __init__(self, element_shape: tuple[int, ...], dtype=None):
        self.element_shape, self._dtype = element_shape, dtype

    @property
    def dtype(self) -> types.DataType | None:
        """The type; `float` and `int` mean the types set by qd.init."""
        return types.of(self._dtype) if self._dtype is not None else None

    def __call__(self, *values) -> Matrix:
        flat: list = []
        for value in values:
            value = value.tolist() if hasattr(value, "tolist") else value
            parts = Matrix(value).entries if isinstance(value, (Matrix, list, tuple)) else [value]
            flat += parts
        count = 1
        for extent in self.element_shape:
            count *= extent
        flat = flat * count if len(flat) == 1 else flat
        if len(flat) != count:
            raise QuadrantsSyntaxError.at(
                f"a {self.described()} takes {count} numbers, got {len(flat)}", f"give {count} numbers, or one for all"
            )
        return Matrix(flat, self.dtype, shape=self.element_shape)

    def field(self, shape=None, **options):
        return matrix_field(self.element_shape, self.dtype, shape, **options)

    def ndarray(self, shape, **_options):
        return matrix_ndarray(self.element_shape, self.dtype, shape)

    def described(self) -> str:
        """Its kind and extents in words: "vector of 3 f32"."""
        kind = (
            f"vector of {self.element_shape[0]}"
            if len(self.element_shape) == 1
            else "{}x{} matrix of".format(*self.element_shape)
        )
        return f"{kind} {self.dtype}" if self.dtype else kind.removesuffix(" of")

    def __str__(self) -> str:
        return f"{'vector' if len(self.element_shape) == 1 else 'matrix'}{self.element_shape}"


@checked
def vector(n: int, dtype=None, *, unpacked: bool = False) -> MatrixAnnotation:
    """The type of vectors of `n` numbers."""
    return MatrixAnnotation(element_shape_of((n,)), _element(dtype))


@checked
def matrix(n: int, m: int, dtype=None) -> MatrixAnnotation:
    """The type of matrices of `n` rows and `m` columns."""
    return MatrixAnnotation(element_shape_of((n, m)), _element(dtype))


def _element(dtype: Any) -> Any:
    if dtype is not None and types.of(dtype) is None:
        raise QuadrantsTypeError.at(f"{described(dtype)} is not an element type", "for example qd.f32")
    return dtype


# --- kinds of kernel arguments ---------------------------------------------------------------------------------------


class TemplateKind:
    """The argument itself is part of the code."""

    def key(self, value: Any) -> Any:
        value = bare_of(value)
        if isinstance(value, Ndarray):
            raise QuadrantsRuntimeTypeError(
                "a qd.ndarray cannot be a template argument: its memory may change",
                "annotate the parameter qd.types.ndarray()",
            )
        if isinstance(value, float):
            return float, value.hex()
        if isinstance(value, tuple):
            return tuple, tuple(map(self.key, value))
        if isinstance(value, (list, dict)):
            raise WrongType(
                f"a template argument is part of the code, but {described(value)} may change",
                "pass a tuple, or read it as a global of the kernel",
            )
        if type(value).__module__ == "numpy" and getattr(value, "shape", ()) != ():
            raise WrongType(
                f"a template argument is part of the code, but {described(value)} may change",
                "annotate the parameter qd.types.ndarray()",
            )
        if isinstance(value, Matrix):
            return Matrix, value.shape, tuple(map(self.key, value.entries))
        if isinstance(value, (int, str, bool, type(None))) or not isinstance(value, Dense):
            return type(value), value
        value.check()
        return Dense, id(value), value

    def typed(self, value: Any) -> Any:
        return bare_of(value)

    def read(self, value: Any, slots: list, storages: list) -> None:
        return


class ScalarKind:
    """A number."""

    def __init__(self, name: str, position: int, dtype: types.DataType):
        self.name, self.position, self.dtype = name, position, dtype
        self.type = ScalarType(dtype.core)
        core = dtype.core
        self.is_float = core.is_float
        self.low, self.high = (0, 0) if core.is_float else (core.min, core.max)
        self.is_bool = dtype is types.u1

    def key(self, value: Any) -> Any:
        return None

    def typed(self, value: Any) -> Any:
        return self.type

    def read(self, value: Any, slots: list, storages: list) -> None:
        kind = type(value)
        if self.is_float:
            if (kind is float and self.dtype is types.f64) or (kind is float and -3e38 < value < 3e38):
                slots.append(value)
                return
            number = _item(value)
            if isinstance(number, (int, float)):
                slots.append(self.dtype.core.constant_of(float(number)))
                return
        elif kind is int and self.low <= value <= self.high:
            slots.append(bool(value) if self.is_bool else value)
            return
        else:
            number = _item(value)
            if isinstance(number, int):
                if number < 0 and not self.dtype.core.signed and not self.is_bool:
                    raise WrongType(
                        f"`{self.name}` must be {an(self.dtype)}, got {number}, which is negative",
                        "annotate a signed type",
                    )
                slots.append(bool(number) if self.is_bool else self.dtype.core.wrapped(int(number)))
                return
        raise QuadrantsRuntimeTypeError(
            f"`{self.name}` must be {an(self.dtype)}, got {described(value)}", self._fix(value)
        )

    def _fix(self, value: Any) -> str:
        if isinstance(value, float):
            return f"convert it: `int({value!r})`, or annotate a float type"
        if isinstance(value, Dense) or hasattr(value, "shape"):
            return "annotate the parameter qd.types.ndarray(), or pass one element"
        return "pass a number"


def _item(value: Any) -> Any:
    if isinstance(value, Numeric):
        return value.value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    is_one = type(value).__module__ in ("numpy", "torch") and getattr(value, "shape", None) in ((), (1,))
    return value.item() if is_one and hasattr(value, "item") else value


class MatrixKind:
    """A vector or matrix, passed number by number."""

    def __init__(self, name: str, position: int, annotation: MatrixAnnotation):
        self.annotation, self.name = annotation, name
        self.scalar = ScalarKind(name, position, annotation.dtype or types.Defaults.fp)

    def key(self, value: Any) -> Any:
        return None

    def typed(self, value: Any) -> Any:
        return _MatrixType(self.annotation.element_shape, self.scalar.type)

    def read(self, value: Any, slots: list, storages: list) -> None:
        is_several = isinstance(value, (Matrix, list, tuple)) or getattr(value, "shape", ()) not in ((), None)
        if not is_several:
            raise WrongType(
                f"`{self.name}` must be a {self.annotation.described()}, got {described(value)}",
                f"pass a {self.annotation.described()}",
            )
        matrix = value if isinstance(value, Matrix) else Matrix(value)
        if matrix.shape != self.annotation.element_shape:
            raise WrongValue(
                f"`{self.name}` must be a {self.annotation.described()}, got {described(matrix)}",
                f"pass a {self.annotation.described()}",
            )
        for entry in matrix.entries:
            self.scalar.read(entry, slots, storages)


class _MatrixType:
    def __init__(self, shape: tuple[int, ...], scalar: ScalarType):
        self.shape, self.scalar = shape, scalar

    def slot_formats(self) -> str:
        count = 1
        for extent in self.shape:
            count *= extent
        return self.scalar.slot_formats() * count

    def rebuild(self, values) -> Matrix:
        return Matrix([self.scalar.rebuild([value]) for value in values], shape=self.shape)


class ArrayKind:
    """An array of qd.ndarray, numpy or torch, passed where it lies."""

    def __init__(self, name: str, position: int, annotation: NdarrayAnnotation):
        self.name, self.position, self.annotation = name, position, annotation

    def _described(self, value: Any) -> tuple:
        """(address, dtype, shape, element shape, row major, strides or None, storage)."""
        value = bare_of(value)
        if isinstance(value, Dense):
            shape, inner = value.shape, value.element_shape
            return value.address(), value.element_type, shape, inner, True, None, None
        view = self._view(value)
        dtype = types.of(view.dtype)
        rank = len(view.shape) - len(self.annotation.element_shape or ())
        if rank < 0:
            raise self._wrong_rank(len(view.shape))
        inner = view.shape[rank:]
        whole = row_major(view.shape, view.strides)
        if not whole and (inner or not _is_transposed(view.shape, view.strides)):
            raise WrongValue(
                f"Non contiguous numpy arrays or tensors are not supported: `{self.name}` has shape "
                f"{view.shape} and strides {view.strides} (in elements)",
                "pass a contiguous copy: `numpy.ascontiguousarray(a)` or `a.contiguous()`",
            )
        return view.address, dtype, view.shape[:rank], inner, whole, None if whole else view.strides, view

    def _view(self, value: Any):
        if type(value).__module__ == "torch" and getattr(value, "requires_grad", False):
            value = value.detach()
        if not dlpack.is_tensor(value):
            raise QuadrantsRuntimeTypeError(
                f"`{self.name}` must be an array, got {described(value)}",
                "pass a numpy array"
                if isinstance(value, (list, tuple))
                else "pass a qd.ndarray, a numpy array or a torch tensor",
            )
        return dlpack.view(value)

    def key(self, value: Any) -> Any:
        numpy = sys.modules.get("numpy")
        if (
            numpy is not None
            and type(value) is numpy.ndarray
            and value.flags.c_contiguous
            and not self.annotation.element_shape
        ):
            self.check(types.of(value.dtype), value.ndim, ())
            return value.dtype.char, value.ndim, (), True
        _, dtype, shape, inner, whole, _, _ = self._described(value)
        self.check(dtype, len(shape), inner)
        return dtype.name, len(shape), inner, whole

    def check(self, dtype: types.DataType | None, rank: int, inner: tuple[int, ...]) -> None:
        wanted = self.annotation
        if dtype is None:
            raise QuadrantsRuntimeTypeError(
                f"`{self.name}` has elements of a type that no kernel knows", "convert it: `a.astype(numpy.float32)`"
            )
        if wanted.dtype is not None and wanted.dtype is not dtype:
            raise WrongValue(
                f"the element type of `{self.name}` must be {wanted.dtype}, got {dtype}",
                f"convert it, or annotate the parameter qd.types.ndarray(dtype=qd.{dtype})",
            )
        if wanted.ndim is not None and wanted.ndim != rank:
            raise self._wrong_rank(rank + len(inner))
        if wanted.element_shape is not None and inner != wanted.element_shape:
            raise WrongValue(
                f"Invalid value for argument {self.name}: it must have elements of shape {wanted.element_shape} "
                f"(required element shape), got {inner}",
                "annotate the parameter with the vector or matrix type that it has",
            )

    def _wrong_rank(self, rank: int) -> WrongValue:
        """The error for an array of `rank` dimensions, the dimensions of its elements among them."""
        wanted, inner = self.annotation, len(self.annotation.element_shape or ())
        ndim = "" if wanted.ndim is None else f"ndim={wanted.ndim}"
        elements = f"elements of {inner} dimension{'s' * (inner != 1)}" if inner else ""
        return WrongValue(
            f"`{self.name}` must have {' and '.join(filter(None, (ndim, elements)))}, got an array of "
            f"{rank} dimension{'s' * (rank != 1)}",
            f"reshape it, or annotate the parameter qd.types.ndarray(ndim={max(rank - inner, 0)})",
        )

    def typed(self, value: Any) -> ArrayType:
        _, dtype, shape, inner, whole, _, _ = self._described(value)
        return ArrayType(dtype, len(shape), inner, whole)

    def read(self, value: Any, slots: list, storages: list) -> None:
        numpy = sys.modules.get("numpy")
        if (
            numpy is not None
            and type(value) is numpy.ndarray
            and value.flags.c_contiguous
            and not self.annotation.element_shape
        ):
            address = value.ctypes.data
            slots.append(address)
            slots.extend(value.shape)
            storages.append((address, value.nbytes, self.name))
            return
        address, dtype, shape, _, whole, strides, view = self._described(value)
        slots.append(address)
        slots.extend(shape)
        if not whole:
            slots.extend(strides)
        if view is not None:
            storages.append(
                (*view.storage, self.name)
                if getattr(view, "storage", None)
                else (address, span_of(view.shape, view.strides) * dtype.bytes, self.name)
            )


def _is_transposed(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the axes in some order are row-major."""
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    return row_major(tuple(shape[axis] for axis in order), tuple(strides[axis] for axis in order))


def is_template(annotation: Any) -> bool:
    return annotation is Template or isinstance(annotation, Template)


def is_array(annotation: Any) -> bool:
    return annotation is NdarrayAnnotation or isinstance(annotation, NdarrayAnnotation)


def array_kind(name: str, position: int, annotation: Any) -> ArrayKind:
    """The kind of a parameter that is annotated as an array."""
    return ArrayKind(name, position, annotation() if isinstance(annotation, type) else annotation)
