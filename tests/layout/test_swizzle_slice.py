"""Slices of swizzled layouts: element c of the slice is where the whole layout has it, whatever is known when."""

from __future__ import annotations

import operator

from hypothesis import given, strategies as st

from dsl import layout as lay
from dsl.layout import Swizzle, make_layout
from dsl.layout.swizzle_slice import slice_swizzled
from tests.layout.random_layouts import coords, layouts, power_layouts


class Later:
    """An integer that is known at run time only: no `int`, and nobody may ask for its value."""

    def __init__(self, value: int, divisor: int = 1) -> None:
        self._value, self.divisibility = value, divisor

    def with_divisibility(self, divisor: int) -> Later:
        assert self._value % divisor == 0
        return Later(self._value, divisor)


def _teach(name: str) -> None:
    function, method = getattr(operator, name), name.rstrip("_")
    setattr(Later, f"__{method}__", lambda self, other: Later(function(now(self), now(other))))
    setattr(Later, f"__r{method}__", lambda self, other: Later(function(now(other), now(self))))


for _name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift"):
    _teach(_name)


def now(value):
    return value._value if isinstance(value, Later) else value


@st.composite
def sliced(draw):
    """A swizzled layout, and a coordinate of it whose leaves are kept, known, or known later."""
    bits = draw(st.integers(0, 3))
    shift = draw(st.integers(max(bits, 1), 4)) * draw(st.sampled_from((1, 1, 1, -1)))
    outer = draw(st.one_of(power_layouts, power_layouts, layouts))
    scale = draw(st.sampled_from((1, 1, 2, 8)))
    outer = lay.make_layout(outer.shape, stride=lay.transform_leaf(lambda d: d * scale, outer.stride))
    offset = draw(st.sampled_from((0, 0, 0, 1, 8, 64, 72, 576)))
    if draw(st.booleans()):
        offset = Later(offset, draw(st.sampled_from([d for d in (1, 8, 64) if offset % d == 0])))
    composed = lay.make_composed_layout(Swizzle(bits, draw(st.integers(0, 3)), shift), offset, outer)
    whole = draw(st.sampled_from(coords(outer.shape)))

    def leaf(c: int):
        kind = draw(st.sampled_from(("kept", "known", "later")))
        return None if kind == "kept" else c if kind == "known" else Later(c)

    return composed, lay.transform_leaf(leaf, whole)


@given(sliced())
def test_every_element_is_where_the_whole_layout_has_it(case):
    layout, coord = case
    left = slice_swizzled(layout, coord, layout.outer.index_of(coord))
    start = now(layout.offset) + now(layout.outer.index_of(coord))
    rest = lay.slice_(layout.outer, coord)
    assert lay.size(left.layout) == lay.size(rest)
    for i in range(lay.size(rest)):
        assert now(left.moved) + now(left.layout.index_of(i)) == layout.inner(start + rest(i))


@given(sliced())
def test_a_slice_and_its_offset_make_the_indices_of_the_whole(case):
    layout, coord = case
    rest, offset = lay.slice_and_offset(coord, layout)
    start = now(layout.offset) + now(layout.outer.index_of(coord))
    kept = lay.slice_(layout.outer, coord)
    for i in range(lay.size(rest)):
        assert now(offset) + now(rest.index_of(i)) == layout.inner(start + kept(i))


ROWS = make_layout((64, 64, 2), stride=(64, 1, 4096))


def told(*coord, offset=0, outer=ROWS):
    """The moved start if it is known, and the slice's layout as text."""
    layout = lay.make_composed_layout(Swizzle(3, 3, 3), offset, outer)
    left = slice_swizzled(layout, coord, outer.index_of(coord))
    return (left.moved if isinstance(left.moved, int) else "?"), str(left.layout)


def test_a_slice_that_the_swizzle_does_not_permute_any_more_is_an_ordinary_layout():  # as NVIDIA's compiler prints them
    t = Later(5)
    assert told(3, None, 0) == (216, "((8,4,2)):((1,-8,32))")
    assert told(t, None, 0) == ("?", "((8,2,2,2)):((1,?{div=8},?{div=16},?{div=32}))")
    assert told(None, 3, 1) == (4099, "((8,8)):((72,512))")
    assert told(None, t, 1) == ("?", "((2,2,2,8)):((?{div=8},?{div=16},?{div=32},512))")
    assert told(None, None, 1) == (4096, "S<3,3,3> o 0 o (64,64):(64,1)")
    assert told(None, None, t) == ("?", "S<3,3,3> o 0 o (64,64):(64,1)")
    assert told(None, None, None) == (0, "S<3,3,3> o 0 o (64,64,2):(64,1,4096)")


def test_a_slice_whose_start_may_carry_into_the_swizzle_keeps_it():
    t = Later(5)
    assert told(t, None, 0, outer=make_layout((64, 64, 2), stride=(8, 1, 512)))[1] == "S<3,3,3> o ?{div=8} o (64):(1)"
    assert told(t, None, 0, offset=t)[1] == "S<3,3,3> o ? o (64):(1)"
    assert told(3, None, 0, outer=make_layout((64, 64, 2), stride=(48, 1, 4096)))[1] == "S<3,3,3> o 144 o (64):(1)"
