"""Exchanges between the lanes of a warp.  PTX ISA: shfl.sync, vote.sync, redux.sync, match.sync, elect.sync."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Boolean, Float32, Int32, numeric
from dsl.core.number.operators import type_name
from dsl.gpu.threads import warp
from dsl.primitives.enums import MatchSync, ReductionKind, Shfl, VoteSync
from dsl.primitives.operands import mask, needs_blackwell, run, word


def elect_sync(*, membermask: Any = 0xFFFFFFFF) -> Boolean:
    """True in one lane of `membermask`.  PTX ISA: elect.sync."""
    return run("elect.sync _|%dsl_p, $1;", Boolean, mask(membermask))


def shfl_sync(
    thread_mask: Any, val: Any, offset: Any, mask_and_clamp: Any, kind: Any, *,
    return_value_and_is_valid: bool | None = None,
) -> Any:  # fmt: skip
    """The `val` of another lane; also whether that lane is in range, where that is asked for.  PTX ISA: shfl.sync."""
    number = numeric(val)
    if number is None or type(number).width != 32:
        raise DSLUserCodeTypeError(
            f"shfl_sync moves 32 bits, got {type_name(val)}", fix="cute.arch.shuffle_sync moves other types too"
        )
    name, lanes = word(kind, Shfl, "kind of a shuffle"), mask(thread_mask)
    moved = warp.shuffle_sync_op(number, offset, lanes, mask_and_clamp, name)
    if not return_value_and_is_valid:
        return moved
    operands = Int32(number.bitcast(Int32)), Int32(offset), Int32(mask_and_clamp), lanes
    text = f".reg .b32 %dsl_v; shfl.sync.{name}.b32 %dsl_v|%dsl_p, $1, $2, $3, $4;"
    return moved, run(text, Boolean, *operands)


def vote_sync(mask: Any, pred: Any, kind: Any) -> Any:
    """Whether `pred` holds in `all` or `any` lanes of `mask`, or is the same (`uni`); a bit each (`ballot`).

    PTX ISA: vote.sync.
    """
    return warp.vote_sync_op(pred, word(kind, VoteSync, "kind of a vote"), _lanes(mask))


_lanes = mask


def match_sync(thread_mask: Any, val: Any, kind: Any) -> Any:
    """The lanes that have this lane's value (`any`); `all`: every lane or none, and whether all have it.

    PTX ISA: match.sync.
    """
    name, lanes = word(kind, MatchSync, "kind of a match"), mask(thread_mask)
    matching = Int32(warp.match_sync(lanes, val, name))
    return matching if name == "any" else (matching, Boolean(matching != 0))


def redux_sync(val: Any, kind: Any, mask_and_clamp: Any, *, abs: bool | None = None, nan: bool | None = None) -> Any:
    """The sum, extreme or bitwise combination of `val` over the lanes of a mask.  PTX ISA: redux.sync."""
    name = ReductionKind(kind).name.lower()
    if name in ("fmin", "fmax"):
        raise needs_blackwell(f"redux_sync of {ReductionKind(kind).name}, of floats,")
    if numeric(val) is not None and type(numeric(val)) is Float32:
        raise DSLUserCodeTypeError(
            "redux_sync of integers, got Float32", fix="cute.arch.warp_reduction combines floats"
        )
    return warp.warp_redux_sync(val, name, mask(mask_and_clamp))
