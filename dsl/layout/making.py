"""Layouts made by another rule than column-major: in an order, like another layout, for registers, the identity."""

from __future__ import annotations

from typing import Any

from dsl.layout.int_tuple import (
    IntTuple,
    LayoutError,
    basis_like,
    basis_value,
    flatten_to_tuple,
    is_constant,
    mul,
    product,
    text,
    transform_leaf,
    unflatten,
)
from dsl.layout.layout import Layout, check_shape, compact_stride


def make_ordered_layout(shape: IntTuple, order: IntTuple) -> Layout:
    """A compact layout whose modes are laid out by increasing `order`; an order leaf stands for its whole mode.

    A mode's stride is the product of the extents whose order is smaller, so modes of equal order get equal strides.
    """
    check_shape(shape)
    leaves: list[tuple[int, IntTuple]] = []
    _pair_with_order(shape, order, leaves)

    def stride(s: IntTuple, o: IntTuple) -> IntTuple:
        if isinstance(o, tuple):
            return tuple(map(stride, s, o))
        return compact_stride(s, product(tuple(extent for other, extent in leaves if other < o)))

    return Layout(shape, stride(shape, order))


def _pair_with_order(shape: IntTuple, order: IntTuple, leaves: list[tuple[int, IntTuple]]) -> None:
    if isinstance(order, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(order):
            raise LayoutError(
                f"make_ordered_layout: the order {text(order)} does not fit the shape {text(shape)}",
                fix="give each mode its place, nested like the shape",
            )
        for s, o in zip(shape, order, strict=True):
            _pair_with_order(s, o, leaves)
    elif isinstance(order, int):
        leaves.append((order, shape))
    else:
        raise LayoutError("make_ordered_layout: an order must be static", fix="write it in integers")


def make_layout_like(input: Any) -> Layout:
    """A compact layout of the same shape, modes in the order of the strides; stride 0 stays 0.

    Equal strides stay equal. Dynamic strides count as larger than every static one, left to right.
    """
    strides = flatten_to_tuple(_static_order(input.stride))
    extents = flatten_to_tuple(input.shape)

    def stride(i: int) -> Any:
        if is_constant(extents[i], 1) or strides[i] == 0:
            return 0
        return product(tuple(e for e, d in zip(extents, strides, strict=True) if d != 0 and d < strides[i]))

    return Layout(input.shape, unflatten(map(stride, range(len(extents))), input.shape))


def _static_order(strides: IntTuple) -> IntTuple:
    """The strides as an order: dynamic ones are larger than every static one, left to right."""
    leaves = [basis_value(stride) for stride in flatten_to_tuple(strides)]
    largest = max((leaf for leaf in leaves if isinstance(leaf, int)), default=0)
    order = (leaf if isinstance(leaf, int) else max(largest, 0) + 1 + i for i, leaf in enumerate(leaves))
    return unflatten(order, strides)


def make_fragment_layout(layout: Layout) -> Layout:
    """A compact layout like `layout` with the first mode column-major in front, the others in their stride order.

    Only the first mode keeps strides 0.
    """

    def front(mode: Layout) -> Layout:
        kept = transform_leaf(lambda s, d: 1 if is_constant(d, 0) else s, mode.shape, mode.stride)
        return Layout(mode.shape, compact_stride(kept))

    if not isinstance(layout.shape, tuple) or len(layout) == 1:
        return front(layout)
    first = front(layout[0])
    rest = make_ordered_layout(layout.shape[1:], _static_order(layout.stride[1:]))
    step = product(transform_leaf(lambda s, d: 1 if is_constant(d, 0) else s, first.shape, first.stride))
    stride = (first.stride, *transform_leaf(lambda d: mul(d, step), rest.stride))
    return Layout(layout.shape, stride)


def make_identity_layout(shape: IntTuple) -> Layout:
    """The layout that maps every coordinate of `shape` to itself: its strides are basis elements."""
    check_shape(shape)
    return Layout(shape, basis_like(shape))
