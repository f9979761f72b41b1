"""The place of an element of a tensor: the pointer to it, or the coordinate it is.

Offsets into global memory are computed in 64 bits unless the layout is known to stay below 2**31 elements.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Int32, Int64, is_dynamic
from dsl.core.number.pointer import AddressSpace, Pointer, element_bytes
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.layout.coord import crd2idx, idx2crd
from dsl.layout.int_tuple import add, divisor_of, flatten_to_tuple, text
from dsl.tile.memory.region import placement_bytes
from dsl.tile.memory.swizzled import swizzled_layout

_INT32_MAX = (1 << 31) - 1
_MAX_UNROLLED_ELEMENTS = 1 << 16


def strided_part(layout: Layout | ComposedLayout) -> Layout:
    """The layout of a tensor without its swizzle."""
    return layout.outer if isinstance(layout, ComposedLayout) else layout


def _wide(leaf: Any) -> Any:
    return Int64(leaf).with_divisibility(divisor_of(leaf)) if is_dynamic(leaf) and leaf.width < 64 else leaf


@functools.lru_cache(maxsize=256)
def _needs_64_bits(shape: Any, stride: Any) -> bool:
    return lay.cosize(Layout(shape, stride)) > _INT32_MAX


def needs_64_bits(layout: Layout) -> bool:
    """Whether an index of the layout could pass 2**31: it is not known to stay below."""
    if any(is_dynamic(lay.basis_value(leaf)) for leaf in flatten_to_tuple((layout.shape, layout.stride))):
        return True
    return _needs_64_bits(layout.shape, layout.stride)


def offset_of(tensor: Any, coord: Any) -> Any:
    """The index of a coordinate in the strided layout, wide enough for the memory it points into."""
    strided = strided_part(tensor.layout)
    if not isinstance(tensor.iterator, Pointer):
        return strided.index_of(coord)
    far = tensor.iterator.space in (AddressSpace.gmem, AddressSpace.generic)
    if far and _has_dynamic((coord, strided.stride)) and needs_64_bits(strided):
        coord = _map_congruent(_expand(coord, strided.shape), _wide)
        return crd2idx(coord, strided.shape, _map_congruent(strided.stride, _wide))
    return crd2idx(coord, strided.shape, strided.stride)


def _has_dynamic(coord: Any) -> bool:
    return any(map(_has_dynamic, coord)) if isinstance(coord, tuple) else is_dynamic(coord)


def _expand(coord: Any, shape: Any) -> Any:
    """A coordinate with every index split down to the leaves of the shape; None stays."""
    if coord is None:
        return None
    if isinstance(coord, tuple):
        return tuple(map(_expand, coord, shape))
    return idx2crd(coord, shape)


def _map_congruent(coord: Any, f: Any) -> Any:
    return tuple(_map_congruent(c, f) for c in coord) if isinstance(coord, tuple) else f(coord)


def moved(start: Pointer, offset: Any, divisor: int) -> Pointer:
    """The pointer `offset` elements on, a multiple of `divisor`; it keeps of the alignment what that allows."""
    if start.dtype.is_packed:
        return start.moved_bits(offset, divisor=divisor)
    at = start + offset
    alignment_bytes = math.gcd(start.alignment_bytes, divisor * element_bytes(start.dtype))
    return Pointer(start.dtype, at.address, start.space, alignment_bytes, swizzle=start.swizzle)


def in_memory(tensor: Any) -> Any:
    """The tensor over a plain pointer: a swizzle of the pointer becomes one of the layout.

    If the pointer is not known to be aligned to the swizzle's period, the tensor starts at the start of its period.
    """
    start = tensor.iterator
    if not isinstance(start, Pointer) or start.swizzle is None:
        return tensor
    layout = swizzled_layout(tensor.layout, start.dtype, start.swizzle)
    period = start.swizzle.period
    plain = start.swizzled(None)
    if _placed_at(plain) % period == 0:
        return type(tensor)(plain, layout)
    into = Int32(plain.toint() & (period - 1)) * 8 // plain.dtype.storage_width
    elements = math.gcd(plain.alignment_bytes, period) * 8 // plain.dtype.storage_width
    into = into.with_divisibility(max(elements, 1))
    aligned = Pointer(plain.dtype, (plain - into).address, plain.space, period)
    return type(tensor)(aligned, ComposedLayout(layout.inner, into, layout.outer))


def element_iterator(tensor: Any, coord: Any) -> Any:
    """The pointer to an element, or the coordinate it is; no check of the coordinate."""
    tensor = in_memory(tensor)
    offset = offset_of(tensor, coord)
    if not isinstance(tensor.iterator, Pointer):
        if isinstance(tensor.layout, ComposedLayout):
            offset = tensor.layout.inner(add(tensor.layout.offset, offset))
        is_leaf = getattr(type(tensor.iterator), "is_leaf", False)
        return tensor.iterator + offset if is_leaf else add(tensor.iterator, offset)
    if not isinstance(tensor.layout, ComposedLayout):
        return moved(tensor.pointer(), offset, divisor_of(offset))
    inner = tensor.layout.inner
    if not isinstance(inner, Swizzle):
        return moved(tensor.pointer(), inner(add(tensor.layout.offset, offset)), 1)
    # Whole periods are added after the swizzle, as a number, and so is the place among elements that it keeps
    # together: elements share its arithmetic, and neighbours are seen to be neighbours.
    behind = 0
    if isinstance(offset, int):
        behind = offset - offset % inner.period
        if is_dynamic(tensor.layout.offset):
            behind += offset % kept_together(tensor.layout)
    at = _permuted(tensor.pointer(), inner, add(tensor.layout.offset, offset - behind))
    return moved(at, behind, behind & -behind) if behind else at


def _permuted(start: Pointer, swizzle: Swizzle, index: Any) -> Pointer:
    """The pointer `swizzle(index)` elements on. If shared memory is known to start at a period, the address itself
    is permuted: it is one number then, and no offset is added after the swizzle."""
    size_bytes, rest = divmod(start.dtype.storage_width, 8)
    whole = not rest and size_bytes & (size_bytes - 1) == 0
    if (
        is_dynamic(index)
        and whole
        and start.space is AddressSpace.smem
        and _placed_at(start) % (swizzle.period * size_bytes) == 0
    ):
        in_bytes = Swizzle(swizzle.bits, swizzle.base + size_bytes.bit_length() - 1, swizzle.shift)
        return moved(start, index, divisor_of(index)).swizzled(in_bytes).in_memory()
    return moved(start, swizzle(index), math.gcd(divisor_of(index), 1 << swizzle.base))


def _placed_at(start: Pointer) -> int:
    """Bytes that an address is a multiple of: what is known of the pointer, or of its place in the kernel's region."""
    return max(start.alignment_bytes, placement_bytes(start.address))


def kept_together(layout: ComposedLayout) -> int:
    """How many elements stay contiguous from every multiple of this number on: the elements below a swizzle's base, as
    far as the offset is known to be a multiple of them; a power of two."""
    if not isinstance(layout.inner, Swizzle):
        return 1
    offset = layout.offset
    divisor = (
        (offset & -offset if offset else 1 << layout.inner.base) if isinstance(offset, int) else divisor_of(offset)
    )
    return math.gcd(1 << layout.inner.base, divisor)


def static_size(tensor: Any, what: str) -> int:
    """The number of elements. Raises DSLUserCodeError where it is dynamic, or too many to unroll."""
    count = lay.size(tensor)
    if not isinstance(count, int):
        raise DSLUserCodeError(
            f"{what} needs a tensor with a static shape, got {text(tensor.shape)}",
            fix="tile it with a static tiler, and work on one tile",
        )
    if count > _MAX_UNROLLED_ELEMENTS:
        raise DSLUserCodeError(
            f"{what} would be unrolled over {count} elements in every thread",
            fix="give each thread its own part of the tensor",
        )
    return count
