"""Swizzles of byte addresses as swizzles of elements."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import element_bytes
from dsl.layout import ComposedLayout, Layout, Swizzle


def swizzled_layout(layout: Layout | ComposedLayout, dtype: type[Numeric], swizzle: Swizzle) -> ComposedLayout:
    """`layout` of elements of `dtype` with a swizzle of byte addresses after it, in memory aligned to its period.

    Raises DSLUserCodeError for a composed layout, and where the swizzle would split an element.
    """
    if isinstance(layout, ComposedLayout):
        raise DSLUserCodeError(
            f"the layout {layout} already has a swizzle besides {swizzle}",
            fix="pass `layout.outer`, or leave `swizzle` out",
        )
    if dtype.storage_width & (dtype.storage_width - 1):
        raise DSLUserCodeError(
            f"a swizzle of byte addresses splits elements of {dtype}", fix="swizzle a tensor of Uint8"
        )
    shift_bits = dtype.storage_width.bit_length() - 4  # -1: a byte has two elements
    if swizzle.base < shift_bits:
        raise DSLUserCodeError(
            f"the swizzle {swizzle} would split an element of {element_bytes(dtype)} bytes",
            fix=f"a base of {shift_bits} bits or more",
        )
    return ComposedLayout(Swizzle(swizzle.bits, swizzle.base - shift_bits, swizzle.shift), 0, layout)
