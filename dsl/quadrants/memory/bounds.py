"""Indices against the extents of what they index, with debug=True.  Source: Quadrants user guide, Debug mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core.control_flow.assertions import require
from dsl.core.number.dtypes import Boolean, Int64, Numeric, Uint64, is_dynamic
from dsl.core.number.operators import operate
from dsl.quadrants.functions.task import active, program
from dsl.quadrants.values import dtypes as types


def check(indices: Sequence, shape: Sequence, label: str, starts: Sequence[int] | None = None) -> None:
    """Stop the kernel where an index is outside of its dimension; nothing without debug=True.

    `label` is the word for what is indexed, `starts` the least index of each dimension where that is not 0.
    """
    if not (active() and program().debug):
        return
    task = program().task  # a host cannot check
    described, extents = _described(label, shape)
    for axis, (index, extent) in enumerate(zip(indices, shape)):
        start = starts[axis] if starts else 0
        if not is_dynamic(index) and not is_dynamic(extent) and start <= int(index) < start + extent:
            continue
        task.has_effects = True  # not an effect that `a if c else b` must not guard
        limits = f", where indices run from {start} to {start + extent - 1}" if start else ""
        wide = Int64(types.number(index))
        require(
            _inside(wide, start, extent),
            AssertionError,
            f"Out of bound access: index {{}} is out of bounds of dimension {axis} of {described}{limits}",
            wide,
            *extents,
        )


def _inside(index: Int64, start: int, extent: Any) -> Boolean:
    """start <= index < start + extent, in one comparison."""
    offset = operate("sub", index, Int64(start)) if start else index
    return operate("lt", Uint64(offset), Uint64(Int64(types.number(extent))))


def _described(label: str, shape: Sequence) -> tuple[str, list[Numeric]]:
    """Words with {} for each extent known at run time, and these extents."""
    words = ", ".join("{}" if is_dynamic(extent) else str(extent) for extent in shape)
    return f"the {label} of shape ({words}{',' * (len(shape) == 1)})", [part for part in shape if is_dynamic(part)]
