"""Laws of dividing and multiplying layouts, on every coordinate of random layouts."""

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from dsl import layout as lay
from dsl.layout import LayoutError, make_layout
from dsl.layout.int_tuple import add
from tests.layout import random_layouts as rnd

settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
settings.load_profile("quick")


def accepted(function, *arguments):
    """The result, or an example given up where the operation has no result."""
    try:
        return function(*arguments)
    except LayoutError:
        assume(False)


@given(rnd.injective_layouts, rnd.compact_layouts)
def test_logical_divide_splits_the_layout_into_tiles(a, tiler):
    assume(lay.size(a) % lay.size(tiler) == 0)
    r = accepted(lay.logical_divide, a, tiler)
    assert rnd.image(r[0]) == [a(i) for i in rnd.image(tiler)]
    assert sorted(rnd.image(r)) == sorted(rnd.image(a))


@pytest.mark.slow
@given(rnd.injective_layouts, st.lists(rnd.extents, min_size=1, max_size=3))
def test_divides_differ_in_nesting_only(a, tiler):
    tiler = tuple(tiler)
    assume(isinstance(a.shape, tuple) and len(tiler) <= len(a))
    assume(all(lay.size(m) % t == 0 for m, t in zip(a.shape, tiler)))
    zipped = accepted(lay.zipped_divide, a, tiler)
    assert lay.rank(zipped) == 2
    assert rnd.image(lay.tiled_divide(a, tiler)) == rnd.image(lay.flat_divide(a, tiler)) == rnd.image(zipped)
    assert lay.tiled_divide(a, tiler)[0] == zipped[0]
    assert sorted(rnd.image(zipped)) == sorted(rnd.image(a))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(1, 9))
def test_a_tile_holds_neighbours_even_if_it_does_not_divide(m, n, tile_m, tile_n):
    divided = lay.zipped_divide(make_layout((m, n), stride=(n, 1)), (tile_m, tile_n))
    assert divided.shape == ((tile_m, tile_n), (-(-m // tile_m), -(-n // tile_n)))
    identity = lay.zipped_divide(lay.make_identity_layout((m, n)), (tile_m, tile_n))
    for coord in (((0, 0), (0, 0)), ((tile_m - 1, 0), (divided.shape[1][0] - 1, 0))):
        (i, j), (bi, bj) = coord
        assert add((0, 0), identity(coord)) == (bi * tile_m + i, bj * tile_n + j)
        assert divided(coord) == (bi * tile_m + i) * n + bj * tile_n + j


@given(rnd.compact_layouts, rnd.compact_layouts)
def test_logical_product_repeats_the_block(block, tiler):
    r = accepted(lay.logical_product, block, tiler)
    assert r[0] == block
    indices = rnd.image(r)
    assert len(set(indices)) == len(indices)
    assert lay.is_compatible(tiler.shape, r.shape[1])


@given(rnd.compact_layouts, rnd.compact_layouts)
def test_ranked_products_lay_out_the_same_elements(block, tiler):
    r = accepted(lay.logical_product, block, tiler)
    blocked = accepted(lay.blocked_product, block, tiler)
    raked = accepted(lay.raked_product, block, tiler)
    assert sorted(rnd.image(blocked)) == sorted(rnd.image(raked)) == sorted(rnd.image(r))
    assert lay.rank(blocked) == lay.rank(raked) == max(lay.rank(block), lay.rank(tiler))


@given(rnd.compact_layouts, st.integers(1, 4), st.integers(1, 4))
def test_tile_to_shape_fills_the_shape(atom, m, n):
    assume(lay.rank(atom) <= 2)
    padded = lay.append(atom, make_layout(1, stride=0), 2)
    shape = (lay.size(padded, 0) * m, lay.size(padded, 1) * n)
    r = accepted(lay.tile_to_shape, atom, shape, (1, 0))
    assert lay.mode_products(r.shape) == shape
    assert sorted(rnd.image(r)) == list(range(lay.size(shape)))


def test_a_tiler_with_too_many_modes_is_refused():
    with pytest.raises(LayoutError) as error:
        lay.zipped_divide(make_layout((32, 4)), (3, 4, 4))
    assert (
        str(error.value) == "logical_divide: the tiler has 3 modes, but (32,4):(1,32) has 2\n"
        "fix: give the tiler at most one mode an extent of the layout"
    )
    with pytest.raises(LayoutError, match="a tiler mode is None, which has no rest"):
        lay.zipped_divide(make_layout((32, 4)), (None, 4))
