"""Tensors whose byte addresses a swizzle permutes."""

from __future__ import annotations

import math

from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Int32, Numeric
from dsl.core.number.pointer import Pointer, element_bytes
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.tensor import Tensor


def period_bytes(swizzle: Swizzle) -> int:
    """The bytes that a swizzle of byte addresses permutes among themselves, a power of two."""
    return 1 << (swizzle.base + swizzle.bits + abs(swizzle.shift))


def swizzled_layout(layout: Layout | ComposedLayout, dtype: type[Numeric], swizzle: Swizzle) -> ComposedLayout:
    """`layout` of elements of `dtype` with a swizzle of byte addresses behind it, in memory aligned to its period.

    Raises DSLUserCodeError for a composed layout, and where the swizzle would split an element.
    """
    if isinstance(layout, ComposedLayout):
        raise DSLUserCodeError(
            f"the layout {layout} has a swizzle of its own beside {swizzle}",
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


def swizzled_tensor(pointer: Pointer, layout: Layout | ComposedLayout, swizzle: Swizzle) -> Tensor:
    """The tensor whose element c lies at swizzle(address of pointer + layout(c)).

    Where the pointer is not known to be aligned to the swizzle's period, the tensor starts at the period it lies in.
    """
    composed, period = swizzled_layout(layout, pointer.dtype, swizzle), period_bytes(swizzle)
    layout = composed.outer
    if pointer.alignment_bytes % period == 0:
        return Tensor(pointer, composed)
    into = Int32(pointer.toint() & (period - 1)) * 8 // pointer.dtype.storage_width
    elements = math.gcd(pointer.alignment_bytes, period) * 8 // pointer.dtype.storage_width
    into = into.with_divisibility(max(elements, 1))
    start = Pointer(pointer.dtype, (pointer - into).address, pointer.space, period)
    return Tensor(start, ComposedLayout(composed.inner, into, layout))
