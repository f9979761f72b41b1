"""Functions for authors of integers and tuples of them, the DSL's numbers among them."""

from __future__ import annotations

from typing import Any

from dsl import layout as layouts
from dsl.core.errors import DSLUserCodeValueError
from dsl.core.number.dtypes import Int16, Int32, Numeric, numeric
from dsl.core.phrase import shown
from dsl.layout import Layout, LayoutError
from dsl.layout.int_tuple import flatten_to_tuple, text
from dsl.tile.tensor.index import as_index


def is_integer(a: Any) -> bool:
    """Whether `a` is a Python integer or a number of an integer type."""
    return isinstance(a, int) or (isinstance(a, Numeric) and a.is_integer)


def is_int_tuple(a: Any) -> bool:
    """Whether `a` is an integer or a tuple of int tuples."""
    return all(map(is_int_tuple, a)) if isinstance(a, tuple) else is_integer(a)


def as_numeric(obj: Any) -> Numeric:
    """A number of the DSL: an int as Int32, a float as Float32, a bool as Boolean. Raises DSLUserCodeValueError."""
    number = numeric(obj)
    if number is None:
        raise DSLUserCodeValueError(f"number expected, got {shown(obj)}", fix="give a number of Python or of the DSL")
    return number


def get_divisibility(x: Any) -> int:
    """A divisor of `x`: a Python integer itself, of a dynamic one what `assume` gave it, else 1."""
    return x if isinstance(x, int) else getattr(x, "divisibility", 1)


def get_leaves(value: Any) -> tuple:
    """The leaves of an int tuple, or of the shape and stride of a layout."""
    return flatten_to_tuple((value.shape, value.stride) if isinstance(value, Layout) else value)


def pretty_str(arg: Any) -> str:
    """`arg` as CuTe writes it: `(4,(2,?))`, `_` for None."""
    return text(arg) if isinstance(arg, (tuple, Numeric)) or arg is None else str(arg)


def make_layout_image_mask(lay: Layout, coord: Any, mode: int) -> Int16:
    """Bits of the indices that `lay` has along `mode`, at `coord` in the other modes: a multicast mask.

    Raises LayoutError where the coordinate has not a place for every mode, or an index has no bit of 16.
    """
    coord, count = as_index(coord), layouts.rank(lay)
    if not isinstance(coord, tuple) or len(coord) != count or not 0 <= mode < count:
        raise LayoutError(
            f"make_layout_image_mask: mode {shown(mode)} and the coordinate {text(coord)} do not fit {shown(lay)}",
            fix="give a coordinate of every mode, and a mode from 0",
        )
    start = lay.index_of(tuple(0 if k == mode else c for k, c in enumerate(coord)))
    along = layouts.get(lay, [mode])
    if layouts.is_static(lay):
        if layouts.cosize(lay) > 16:
            raise LayoutError(
                f"make_layout_image_mask: {lay} reaches an index past 15", "use a layout of 16 blocks at most"
            )
        bits = sum(1 << along(k) for k in range(layouts.size(along)))
        mask = bits << start if isinstance(start, int) else Int32(bits) << start
        return Int16(mask if not isinstance(mask, int) else mask - (mask >> 15 << 16))
    raise LayoutError(f"make_layout_image_mask: {lay} is known only at run time", "use a static layout of blocks")
