"""TensorSSA values made of numbers, chosen by a condition, and tested."""

from __future__ import annotations

import functools
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number.dtypes import Boolean, Numeric, NumericMeta, numeric
from dsl.core.number.operators import select, type_name
from dsl.core.phrase import shown
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.vector import broadcast
from dsl.tile.vector.mlir_vector import splat
from dsl.tile.vector.ssa import TensorSSA, operate, static_shape


def full(shape: Any, fill_value: Any, dtype: type[Numeric]) -> TensorSSA:
    """A value of static shape with `fill_value`, converted to `dtype`, in every element."""
    if not isinstance(dtype, NumericMeta):
        raise DSLUserCodeTypeError(
            f"a TensorSSA needs a numeric type, got {shown(dtype)}", fix="full((2, 4), 0.0, cutlass.Float32)"
        )
    if numeric(fill_value) is None:
        raise DSLUserCodeTypeError(
            f"full repeats a number, got {type_name(fill_value)}", fix="`x.broadcast_to(shape)` repeats a TensorSSA"
        )
    shape = static_shape(shape)
    return TensorSSA(splat(dtype(fill_value), lay.size(shape)), shape, dtype)


def full_like(a: Any, fill_value: Any, dtype: type[Numeric] | None = None) -> TensorSSA:
    """`fill_value` in the shape, and where no `dtype` is given the element type, of a tensor or TensorSSA."""
    if not isinstance(a, (Tensor, TensorSSA)):
        raise DSLUserCodeTypeError(
            f"needs a tensor or a TensorSSA to copy the shape of, got {type_name(a)}",
            fix="cute.full(shape, value, dtype)",
        )
    return full(a.shape, fill_value, dtype or a.element_type)


def zeros_like(a: Any, dtype: type[Numeric] | None = None) -> TensorSSA:
    return full_like(a, 0, dtype)


def ones_like(a: Any, dtype: type[Numeric] | None = None) -> TensorSSA:
    return full_like(a, 1, dtype)


def empty_like(a: Any, dtype: type[Numeric] | None = None) -> TensorSSA:
    """A value to be replaced: nothing is promised of its elements (they are 0 here)."""
    return full_like(a, 0, dtype)


def where(cond: Any, x: Any, y: Any) -> Any:
    """The elements of `x` where `cond`, a TensorSSA of Boolean, is true, and of `y` elsewhere, broadcast.

    x and y have one type; a Python number takes the type of the other side if it is of its kind. Of three numbers, a
    number. Raises DSLUserCodeTypeError, DSLUserCodeValueError for other types and shapes.
    """
    if not any(isinstance(operand, TensorSSA) for operand in (cond, x, y)):
        return select(cond, x, y)
    shapes = [operand.shape for operand in (x, y, cond) if isinstance(operand, TensorSSA)]
    cond = cond if isinstance(cond, TensorSSA) else full(_ones(shapes[0]), cond, Boolean)
    if cond.dtype is not Boolean:
        raise DSLUserCodeValueError(
            f"condition of where must be a TensorSSA of Boolean, got {cond.dtype}", fix="compare: `x != 0`"
        )
    dtype = _common_type(x, y)
    x, y = (operand if isinstance(operand, TensorSSA) else full(_ones(shapes[0]), operand, dtype) for operand in (x, y))
    shape = functools.reduce(broadcast.joined, (x.shape, y.shape, cond.shape))
    cond, x, y = (operand.broadcast_to(shape) for operand in (cond, x, y))
    return x.with_ir(arithmetic.select(cond.ir(), x.ir(), y.ir()))


def _ones(shape: Any) -> Any:
    """A shape nested as `shape` with one element, which is repeated there."""
    return tuple(map(_ones, shape)) if isinstance(shape, tuple) else 1


def _common_type(x: Any, y: Any) -> type[Numeric]:
    types = []
    for operand, other in ((x, y), (y, x)):
        if isinstance(operand, TensorSSA):
            types.append(operand.dtype)
            continue
        number = numeric(operand)
        if number is None:
            raise DSLUserCodeTypeError(
                f"where chooses between numbers, got {type_name(operand)}", fix="load a tensor first: `t.load()`"
            )
        wanted = other.dtype if isinstance(other, TensorSSA) else type(number)
        fits = (isinstance(operand, int) and wanted.is_integer) or (isinstance(operand, float) and wanted.is_float)
        types.append(wanted if fits and isinstance(operand, bool) == (wanted is Boolean) else type(number))
    if types[0] is not types[1]:
        raise DSLUserCodeValueError(
            f"where needs two values of one type, got {types[0]} and {types[1]}",
            fix=f"convert one, for example `.to(cutlass.{types[0]})`",
        )
    return types[0]


def _truths(x: Any, name: str) -> mlir.Value:
    if not isinstance(x, TensorSSA):
        raise DSLUserCodeTypeError(
            f"{name} takes a TensorSSA, got {type_name(x)}", fix="load a tensor first: `t.load()`"
        )
    return x.ir() if x.dtype is Boolean else operate("ne", x, 0).ir()


def any_(x: TensorSSA) -> Boolean:
    """Whether an element is not 0."""
    return _reduced(_truths(x, "any_"), "or")


def all_(x: TensorSSA) -> Boolean:
    """Whether no element is 0."""
    return _reduced(_truths(x, "all_"), "and")


def _reduced(truths: mlir.Value, kind: str) -> Boolean:
    with mlir.context:
        attribute = mlir.ir.Attribute.parse(f"#vector.kind<{kind}>")
    return Boolean(mlir.result("vector.reduction", mlir.i1, truths, kind=attribute))
