"""Coordinates as an author writes them, made what layouts take."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, is_dynamic


def _index_leaf(leaf: Any) -> Any:
    """An index as layouts take it: None, a Python int, or a dynamic integer."""
    if leaf is None or (isinstance(leaf, int) and not isinstance(leaf, bool)):
        return leaf
    if isinstance(leaf, slice) and leaf == slice(None):
        return None
    if isinstance(leaf, Numeric) and leaf.is_integer:
        return leaf if is_dynamic(leaf) else int(leaf.value)
    what = type(leaf).__name__
    raise DSLUserCodeTypeError(
        f"tensor index must be integers and None, got {what}",
        fix="`cute.local_tile(t, tiler, coord)` is a part of a tensor; None (or `:`) keeps a mode whole"
        if isinstance(leaf, slice)
        else "convert it: `Int32(x)`; None (or `:`) keeps a mode whole",
    )


def as_index(coord: Any) -> Any:
    """A coordinate of the author with Python numbers in place of Numerics that hold them, and None in place of `:`."""
    return tuple(map(as_index, coord)) if isinstance(coord, (tuple, list)) else _index_leaf(coord)
