"""Reductions of a vector that has a shape, in the order of its elements."""

from __future__ import annotations

import enum
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric, numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.layout.int_tuple import is_weakly_congruent, text
from dsl.tile.tensor.index import as_index
from dsl.tile.vector.mlir_vector import shuffle, splat


class ReductionOp(enum.Enum):
    """What `TensorSSA.reduce` combines elements with. MIN and MAX of floats give NaN where an element is NaN."""

    ADD = 0
    MUL = 1
    MIN = 2
    MAX = 3

    def __str__(self) -> str:
        return self.name


_INTEGER = {"add": "addi", "mul": "muli"}
_FLOAT = {"add": "addf", "mul": "mulf"}


def reduce(
    value: mlir.Value, shape: Any, dtype: type[Numeric], op: ReductionOp, init_val: Any, profile: Any
) -> tuple[mlir.Value, Any]:
    """What TensorSSA.reduce makes of a vector: a number and None, or a vector and its shape.

    Raises DSLUserCodeTypeError, DSLUserCodeValueError for another op, start or profile.
    """
    if not isinstance(op, ReductionOp):
        raise DSLUserCodeTypeError(
            f"op of a reduction must be a cute.ReductionOp, got {shown(op)}", fix="ReductionOp.ADD, MUL, MIN or MAX"
        )
    init = numeric(init_val)
    if init is None:
        raise DSLUserCodeTypeError(
            f"init_val of a reduction must be a number, got {type_name(init_val)}",
            fix="for example `x.reduce(cute.ReductionOp.ADD, 0.0, 0)`",
        )
    profile = as_index(profile)
    if not is_weakly_congruent(_without_none(profile), shape):
        raise DSLUserCodeValueError(
            f"the reduction profile {text(profile)} does not fit the shape {text(shape)}",
            fix="give an integer for each mode to reduce and None for each to keep",
        )
    start = dtype(init)
    if not lay.has_none(profile):
        return _whole(value, op, dtype, start.ir()), None
    remaining, reduced = _parts(shape, profile)
    if lay.size(reduced) == 1 and not _reduces(profile):
        return value, shape
    count = lay.size(remaining)
    groups = [[reduced(r) + remaining(k) for k in range(count)] for r in range(lay.size(reduced))]
    return _chain(value, op, dtype, splat(start, count), groups), remaining.shape


def _without_none(profile: Any) -> Any:
    return tuple(map(_without_none, profile)) if isinstance(profile, tuple) else 0


def _reduces(profile: Any) -> bool:
    return any(map(_reduces, profile)) if isinstance(profile, tuple) else profile is not None


def _parts(shape: Any, profile: Any) -> tuple[Any, Any]:
    """The layouts, index to element, of what is kept and of what is reduced."""
    compact = lay.make_layout(shape)
    reduced = lay.dice(compact, profile)
    return lay.slice_(compact, profile), reduced if lay.rank(reduced) else lay.make_layout(1)


def _whole(value: mlir.Value, op: ReductionOp, dtype: type[Numeric], start: mlir.Value) -> mlir.Value:
    """start op element 0 op element 1 ..."""
    with mlir.context:
        kind = mlir.ir.Attribute.parse(f"#vector.kind<{_kind(op, dtype)}>")
    return mlir.result("vector.reduction", start.type, value, start, kind=kind)


def _chain(
    value: mlir.Value, op: ReductionOp, dtype: type[Numeric], start: mlir.Value, groups: list[list[int]]
) -> mlir.Value:
    """start op group 0 op group 1 ..., each group a vector of elements."""
    result = start
    kind = _kind(op, dtype)
    name = "arith." + (_FLOAT if dtype.is_float else _INTEGER).get(kind, kind + "i" * (kind in ("and", "or")))
    for group in groups:
        result = mlir.result(name, result.type, result, shuffle(value, group))
    return result


def _kind(op: ReductionOp, dtype: type[Numeric]) -> str:
    """The vector dialect's name for the combination."""
    if dtype is Boolean:
        return "or" if op in (ReductionOp.ADD, ReductionOp.MAX) else "and"
    if op in (ReductionOp.ADD, ReductionOp.MUL):
        return op.name.lower()
    extreme = op.name.lower()
    return f"{extreme}imumf" if dtype.is_float else f"{extreme}{'s' if dtype.signed else 'u'}i"
