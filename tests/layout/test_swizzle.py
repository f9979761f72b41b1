"""Swizzles permute indices, and composed layouts slice and offset like functions."""

import pytest
from hypothesis import given, strategies as st

from dsl import layout as lay
from dsl.layout import LayoutError, Swizzle, make_layout


@given(st.integers(0, 3), st.integers(0, 4), st.integers(3, 5), st.booleans())
def test_a_swizzle_is_its_own_inverse(bits, base, shift, negative):
    swizzle = Swizzle(bits, base, -shift if negative else shift)
    period = 1 << (base + bits + shift)
    indices = [swizzle(i) for i in range(period)]
    assert sorted(indices) == list(range(period))
    assert [swizzle(i) for i in indices] == list(range(period))
    assert all(swizzle(i) % (1 << base) == i % (1 << base) for i in range(period))


def test_the_128_byte_swizzle_spreads_a_column_over_all_banks():
    tile = lay.make_composed_layout(Swizzle(3, 4, 3), 0, make_layout((8, 128), stride=(128, 1)))  # bytes
    assert sorted(tile((row, 0)) % 128 for row in range(8)) == list(range(0, 128, 16))


@given(st.integers(0, 7), st.integers(0, 63))
def test_a_slice_of_a_composed_layout_keeps_its_indices(row, column):
    tile = lay.make_composed_layout(Swizzle(3, 3, 3), 0, make_layout((8, 64), stride=(64, 1)))
    assert lay.slice_(tile, (row, None))((column,)) == tile((row, column))


@pytest.mark.parametrize("parameters", [(-1, 0, 3), (3, -1, 3), (3, 0, 2)])
def test_impossible_swizzles_are_refused(parameters):
    with pytest.raises(LayoutError):
        lay.make_swizzle(*parameters)
