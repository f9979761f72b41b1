"""Coordinates: what they index, how they are enumerated, and what a coordinate with None picks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.layout.int_tuple import (
    Coord,
    IntTuple,
    LayoutError,
    add,
    mul,
    prefix_product,
    product,
    quotient,
    remainder,
    text,
    transform_leaf,
    wrap,
)


def crd2idx(coord: Coord, shape: IntTuple, stride: IntTuple | None = None) -> Any:
    """The inner product of a coordinate (hierarchical, or an index that counts column-major) with the strides.

    A None counts 0. The last mode of an index is not reduced modulo its extent, so an index past the end goes on in it.
    """
    if stride is None:
        stride = prefix_product(shape)
    if coord is None:
        return 0
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise LayoutError(
                f"the coordinate {text(coord)} does not fit the shape {text(shape)}",
                f"give {len(wrap(shape))} coordinates, or one index",
            )
        index: Any = 0
        strides: Any = stride
        for c, s, d in zip(coord, shape, strides, strict=True):
            index = add(index, crd2idx(c, s, d))
        return index
    if isinstance(shape, tuple):
        return crd2idx(idx2crd(coord, shape), shape, stride) if shape else 0
    return mul(coord, stride)


def idx2crd(idx: Coord, shape: IntTuple) -> Coord:
    """The column-major coordinate of an index, in the nesting of `shape`; the last mode is not reduced.

    Raises LayoutError where `idx` does not fit `shape`, or `shape` is none.
    """
    if not isinstance(shape, tuple) and hasattr(shape, "shape"):
        raise LayoutError(f"idx2crd: {shape} is a layout, not a shape", fix="give `layout.shape`")
    if idx is None:
        return transform_leaf(lambda _: None, shape)
    if isinstance(idx, tuple):
        if not isinstance(shape, tuple) or len(idx) != len(shape):
            raise LayoutError(
                f"idx2crd: {text(idx)} does not fit the shape {text(shape)}",
                fix="give one index, or a coordinate nested like the shape",
            )
        return tuple(map(idx2crd, idx, shape))
    if not isinstance(shape, tuple):
        return idx
    coord = []
    for position, mode in enumerate(shape):
        if position == len(shape) - 1:
            coord.append(idx2crd(idx, mode))
        else:
            extent = product(mode)
            coord.append(idx2crd(remainder(idx, extent), mode))
            idx = quotient(idx, extent)
    return tuple(coord)


def crd2crd(coord: Coord, src_shape: IntTuple, dst_shape: IntTuple) -> Coord:
    """The coordinate of `dst_shape` with the same column-major index as `coord` has in `src_shape`."""
    return idx2crd(crd2idx(coord, src_shape), dst_shape)


def increment_coord(coord: IntTuple, shape: IntTuple) -> IntTuple:
    """The static coordinate after `coord` in column-major order; the last mode goes on past its extent."""
    return _incremented(coord, shape, True, True)[0]


def _incremented(coord: IntTuple, shape: IntTuple, carry: Any, is_last: bool) -> tuple[IntTuple, Any]:
    """The coordinate one further where `carry`, and whether it has begun again from 0."""
    if not isinstance(shape, tuple):
        further = coord + carry
        if is_last:
            return further, False
        begins = further >= shape
        if isinstance(begins, bool):
            return (0 if begins else further), begins & carry
        return further * (further < shape), begins & carry
    if not isinstance(coord, tuple) or len(coord) != len(shape):
        raise LayoutError(
            f"increment_coord: {text(coord)} does not fit the shape {text(shape)}",
            fix="nest the coordinate like the shape",
        )
    leaves = list(coord)
    for mode, (c, s) in enumerate(zip(coord, shape, strict=True)):
        leaves[mode], carry = _incremented(c, s, carry, is_last and mode == len(shape) - 1)
        if carry is False:
            break
    return tuple(leaves), carry


def elem_less(lhs: Coord, rhs: Coord) -> Any:
    """Whether every leaf of `lhs` is less than its partner in `rhs`: a bool if static, else the conjunction."""
    if isinstance(lhs, tuple) or isinstance(rhs, tuple):
        if not (isinstance(lhs, tuple) and isinstance(rhs, tuple)) or len(lhs) != len(rhs):
            raise LayoutError(f"elem_less: {text(lhs)} and {text(rhs)} are not congruent", fix="nest both alike")
        result: Any = True
        for x, y in zip(lhs, rhs, strict=True):
            less = elem_less(x, y)
            if less is False or result is False:
                return False
            result = less if result is True else result if less is True else result & less
        return result
    if lhs is None or rhs is None:
        return True
    return lhs < rhs


def slice_tuple(x: IntTuple, coord: Coord) -> Any:
    """The subtrees of `x` where `coord` is None, as one flat list of modes; `x` itself for a coordinate None."""
    return x if coord is None else _pick(x, coord, lambda c: c is None)


def dice_tuple(x: IntTuple, coord: Coord) -> Any:
    """The subtrees of `x` where `coord` is an integer, as one flat list of modes; `x` itself for an integer."""
    return _pick(x, coord, lambda c: c is not None) if isinstance(coord, tuple) or coord is None else x


def _pick(x: IntTuple, coord: Coord, keep: Callable[[Any], bool]) -> tuple:
    if not isinstance(coord, tuple):
        return (x,) if keep(coord) else ()
    if not isinstance(x, tuple) or len(coord) != len(x):
        raise LayoutError(
            f"the coordinate {text(coord)} does not fit {text(x)}", f"give {len(wrap(x))} modes, each an index or None"
        )
    return tuple(e for child, c in zip(x, coord, strict=True) for e in _pick(child, c, keep))
