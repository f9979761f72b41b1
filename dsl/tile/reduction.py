"""Reductions of a TensorSSA, in the order of its elements."""

from __future__ import annotations

import enum
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric, numeric
from dsl.core.number.operators import type_name
from dsl.layout.int_tuple import is_weakly_congruent, text
from dsl.tile.index import as_index
from dsl.tile.ssa import TensorSSA, shuffle, splat


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


def reduce(value: TensorSSA, op: ReductionOp, init_val: Any, profile: Any) -> Any:
    """See TensorSSA.reduce. Raises DSLUserCodeTypeError, DSLUserCodeValueError for another op, start or profile."""
    if not isinstance(op, ReductionOp):
        raise DSLUserCodeTypeError(
            f"op of a reduction must be a cute.ReductionOp, got {op!r}", fix="ReductionOp.ADD, MUL, MIN or MAX"
        )
    if numeric(init_val) is None:
        raise DSLUserCodeTypeError(
            f"init_val of a reduction must be a number, got {type_name(init_val)}",
            fix="for example `x.reduce(cute.ReductionOp.ADD, 0.0, 0)`",
        )
    profile = as_index(profile)
    if not is_weakly_congruent(_without_none(profile), value.shape):
        raise DSLUserCodeValueError(
            f"the reduction profile {text(profile)} does not fit the shape {text(value.shape)}",
            fix="give an integer for each mode to reduce and None for each to keep",
        )
    start = value.dtype(numeric(init_val))
    if not lay.has_none(profile):
        return value.dtype(_whole(value, op, start.ir()))
    kept, reduced = _parts(value.shape, profile)
    if lay.size(reduced) == 1 and not _reduces(profile):
        return value
    groups = [[reduced(r) + kept(k) for k in range(lay.size(kept))] for r in range(lay.size(reduced))]
    return TensorSSA(_chain(value, op, splat(start, lay.size(kept)), groups), kept.shape, value.dtype)


def _without_none(profile: Any) -> Any:
    return tuple(map(_without_none, profile)) if isinstance(profile, tuple) else 0


def _reduces(profile: Any) -> bool:
    return any(map(_reduces, profile)) if isinstance(profile, tuple) else profile is not None


def _parts(shape: Any, profile: Any) -> tuple[Any, Any]:
    """The layouts, index to element, of what is kept and of what is reduced."""
    compact = lay.make_layout(shape)
    reduced = lay.dice(compact, profile)
    return lay.slice_(compact, profile), reduced if lay.rank(reduced) else lay.make_layout(1)


def _whole(value: TensorSSA, op: ReductionOp, start: mlir.Value) -> mlir.Value:
    """start op element 0 op element 1 ..."""
    with mlir.context:
        kind = mlir.ir.Attribute.parse(f"#vector.kind<{_kind(op, value.dtype)}>")
    return mlir.result("vector.reduction", start.type, value.ir(), start, kind=kind)


def _chain(value: TensorSSA, op: ReductionOp, start: mlir.Value, groups: list[list[int]]) -> mlir.Value:
    """start op group 0 op group 1 ..., each group a vector of elements."""
    whole, result = value.ir(), start
    kind = _kind(op, value.dtype)
    name = "arith." + (_FLOAT if value.dtype.is_float else _INTEGER).get(kind, kind + "i" * (kind in ("and", "or")))
    for group in groups:
        result = mlir.result(name, result.type, result, shuffle(whole, group))
    return result


def _kind(op: ReductionOp, dtype: type[Numeric]) -> str:
    """The vector dialect's name for the combination."""
    if dtype is Boolean:
        return "or" if op in (ReductionOp.ADD, ReductionOp.MAX) else "and"
    if op in (ReductionOp.ADD, ReductionOp.MUL):
        return op.name.lower()
    extreme = op.name.lower()
    return f"{extreme}imumf" if dtype.is_float else f"{extreme}{'s' if dtype.signed else 'u'}i"
