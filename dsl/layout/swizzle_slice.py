"""Slicing a swizzled layout: how far the start moves, and the layout that is left. CuTe C++: swizzle_layout.hpp.

S is an xor, so S(a + b) is not S(a) + S(b). But where a and b have no bits in common, S(a + b) - S(a) depends on b, and
on those bits of a that S xors with bits of b. So a slice that leaves no two bits which S xors with one another is an
ordinary layout whose strides are computed from where it starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dsl.layout.algebra import composition
from dsl.layout.int_tuple import (
    Coord,
    IntTuple,
    LayoutError,
    add,
    assume,
    divisor_of,
    flatten_to_tuple,
    is_constant,
    mul,
)
from dsl.layout.layout import ComposedLayout, Layout, slice_
from dsl.layout.swizzle import Swizzle


@dataclass(frozen=True)
class Sliced:
    """The rest of a tensor: it starts `moved` elements on and has `layout`."""

    moved: Any
    layout: Layout | ComposedLayout


def slice_swizzled(layout: ComposedLayout, coord: Coord, index: Any) -> Sliced:
    """The slice of a swizzled layout at `coord`, whose index in the outer layout is `index`: element c of the slice is
    `moved + layout(c)` elements from where the whole starts.

    An ordinary layout if one is known while tracing; else a swizzled one, whose offset has what could not be moved.
    """
    swizzle, start, outer = layout.inner, add(layout.offset, index), layout.outer
    rest = slice_(outer, coord)
    unmoved = Sliced(0, ComposedLayout(swizzle, start, rest))
    start_bits = _Bits.of(layout.offset) + _taken(coord, outer.shape, outer.stride)
    rest_bits = _reach(rest.shape, rest.stride).all
    if rest.shape == outer.shape or start_bits.all & rest_bits & (swizzle.period - 1):
        return unmoved
    masks = _Masks.of(swizzle)
    if not masks.collide(rest_bits) and not _carries(rest, swizzle.period - 1):
        try:
            left = composition(masks.layout(start, start_bits, rest_bits), rest)
        except LayoutError:  # the strides do not follow the swizzle's bits
            return unmoved
        if start_bits.all & masks.both:
            start = assume(swizzle(start), math.gcd(divisor_of(start), 1 << swizzle.base))
        return Sliced(start, left)
    return unmoved if start_bits.all & masks.both else Sliced(start, ComposedLayout(swizzle, 0, rest))


def slice_and_offset(coord: Coord, src: Layout | ComposedLayout) -> tuple[Layout | ComposedLayout, Any]:
    """The slice, and the index where it starts: element c of it has the index `start + slice(c)` in `src`."""
    if isinstance(src, ComposedLayout) and isinstance(src.inner, Swizzle):
        sliced = slice_swizzled(src, coord, src.outer.index_of(coord))
        return sliced.layout, sliced.moved
    return slice_(src, coord), src.index_of(coord)


@dataclass(frozen=True)
class _Masks:
    """The bits of a swizzle: `lower` and `upper` are as many bits wide, `upper` `distance` bits above `lower`.

    Those of `source` are xored into the others.
    """

    lower: int
    upper: int
    distance: int
    source: int

    @staticmethod
    def of(swizzle: Swizzle) -> _Masks:
        lower = ((1 << swizzle.bits) - 1) << swizzle.base
        upper = lower << abs(swizzle.shift)
        return _Masks(lower, upper, abs(swizzle.shift), upper if swizzle.shift >= 0 else lower)

    @property
    def both(self) -> int:
        return self.lower | self.upper

    def collide(self, bits: int) -> bool:
        """Whether two of the bits are xored with one another."""
        return bool(bits & self.lower & (bits & self.upper) >> self.distance)

    def layout(self, start: Any, start_bits: _Bits, rest_bits: int) -> Layout:
        """Index of a number without the bits of `start` -> S(start + number) - S(start)."""
        shape, stride = [], []
        for position in range(self.both.bit_length()):
            bit = 1 << position
            is_swizzled = bool(bit & self.both)
            if shape and not is_swizzled and not (bit >> 1) & self.both:
                shape[-1] *= 2
                continue
            shape.append(2)
            stride.append(self._step(bit, start, start_bits) if is_swizzled and bit & rest_bits else bit)
        return Layout((*shape, 1), (*stride, 1 << self.both.bit_length()))

    def _step(self, bit: int, start: Any, start_bits: _Bits) -> Any:
        """S(start + bit) - S(start), for a bit that `start` has not.

        Where `start` has the bit's partner, the one of both that the swizzle changes goes from 1 to 0.
        """
        partner = bit << self.distance if bit & self.lower else bit >> self.distance
        changed, also = (partner, bit) if bit & self.source else (bit, 0)
        if not start_bits.may & partner:
            return also - changed if start_bits.has & partner else also + changed
        place = start & partner
        if changed < partner:
            place = place >> self.distance
        elif changed > partner:
            place = place << self.distance
        return assume(add(also + changed, mul(-2, place)), min(changed, also or changed))


# --- which bits an index can have -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bits:
    """The bits that a number has, and those it may have: masks, negative where there is no highest bit."""

    has: int
    may: int

    @property
    def all(self) -> int:
        return self.has | self.may

    def __add__(self, other: _Bits) -> _Bits:
        """Those of the sum: from the first bit that both can have on, a carry can go anywhere."""
        a, b = self.all, other.all
        both = a & b
        if not both:
            return _Bits(self.has | other.has, self.may | other.may)
        lowest = _lowest(both)
        highest = 0 if a < 0 or b < 0 else 1 << (a + b).bit_length()
        return _Bits((self.has | other.has) & (lowest - 1), (self.may | other.may) & (lowest - 1) | (highest - lowest))

    @staticmethod
    def of(number: Any) -> _Bits:
        return _Bits(number, 0) if isinstance(number, int) else _Bits(0, -_lowest(divisor_of(number)))


_NO_BITS = _Bits(0, 0)


def _taken(coord: Coord, shape: IntTuple, stride: IntTuple) -> _Bits:
    """The bits of the index of a coordinate, whose None counts 0."""
    if coord is None:
        return _NO_BITS
    if isinstance(coord, tuple):
        return sum((_taken(c, s, d) for c, s, d in zip(coord, shape, stride, strict=True)), _NO_BITS)
    if isinstance(coord, int):
        return _Bits.of(Layout(shape, stride).index_of(coord))
    return _reach(shape, stride)


def _reach(shape: IntTuple, stride: IntTuple) -> _Bits:
    """The bits of all indices of a layout."""
    if isinstance(shape, tuple):
        return sum((_reach(s, d) for s, d in zip(shape, stride, strict=True)), _NO_BITS)
    if is_constant(stride, 0) or is_constant(shape, 1):
        return _NO_BITS
    lowest = _lowest(divisor_of(stride))
    if not isinstance(shape, int) or not isinstance(stride, int) or stride < 0:
        return _Bits(0, -lowest)
    return _Bits(0, (1 << ((shape - 1) * stride).bit_length()) - lowest)


def _carries(layout: Layout, below: int) -> bool:
    """Whether two modes of a layout can have one of the bits of `below` in common: their sum can carry."""
    seen = 0
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        bits = _reach(s, d).all & below
        if bits & seen:
            return True
        seen |= bits
    return False


def _lowest(number: int) -> int:
    return number & -number
