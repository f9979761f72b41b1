"""The defining laws of the algebra, on every coordinate of random layouts."""

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from dsl import layout as lay
from dsl.layout import LayoutError, make_layout
from tests.layout import random_layouts as rnd

UNCHECKED = [HealthCheck.filter_too_much, HealthCheck.too_slow]
settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=UNCHECKED)
settings.load_profile("quick")


def accepted(function, *arguments):
    """The result, or an example given up where the operation has no result."""
    try:
        return function(*arguments)
    except LayoutError:
        assume(False)


@given(rnd.layouts)
def test_coalesce_is_the_same_function_in_fewer_modes(a):
    r = lay.coalesce(a)
    assert rnd.image(r) == rnd.image(a)
    assert lay.depth(r) <= 1 and lay.rank(r) <= len(lay.flatten_to_tuple(a.shape))
    assert lay.coalesce(r) == r


@given(rnd.layouts)
def test_coalesce_by_mode_keeps_the_modes(a):
    if isinstance(a.shape, tuple):
        r = lay.coalesce(a, target_profile=(1,) * len(a))
        assert [rnd.image(m) for m in r] == [rnd.image(m) for m in a]


@given(rnd.layouts)
def test_filter_reaches_the_same_indices(a):
    assert set(rnd.image(lay.filter(a))) == set(rnd.image(a))


@given(rnd.layouts)
def test_the_nullspace_goes_to_zero(a):
    r = lay.nullspace(a)
    leaves = zip(*map(lay.flatten_to_tuple, (a.shape, a.stride)), strict=True)
    assert all(a(i) == 0 for i in rnd.image(r))
    assert lay.size(r) == lay.product(tuple(s for s, d in leaves if d == 0))


@given(rnd.layouts, rnd.extents, st.integers(0, 12))
def test_composition_with_one_mode_is_a_after_b(a, extent, stride):
    b = make_layout(extent, stride=stride)
    assume(lay.cosize(b) <= lay.size(a))
    r = accepted(lay.composition, a, b)
    assert rnd.image(r) == [a(b(c)) for c in range(extent)]


@given(rnd.power_layouts, rnd.compact_power_layouts)
def test_composition_is_a_after_b(a, b):
    assume(lay.cosize(b) <= lay.size(a))
    r = lay.composition(a, b)
    assert all(r(c) == a(b(c)) for c in rnd.coords(b.shape))
    assert lay.is_compatible(b.shape, r.shape)


@given(rnd.layouts, rnd.shapes)
def test_composition_with_a_tiler_works_by_mode(a, tiler):
    assume(isinstance(a.shape, tuple) and isinstance(tiler, tuple) and len(tiler) <= len(a))
    tiler = tuple(map(lay.size, tiler))
    assume(all(t <= lay.size(mode) for t, mode in zip(tiler, a.shape)))
    r = accepted(lay.composition, a, tiler)
    for i, t in enumerate(tiler):
        assert rnd.image(r[i]) == [a[i](j) for j in range(t)]


@given(rnd.injective_layouts)
def test_the_complement_reaches_what_is_left_once(a):
    r = accepted(lay.complement, a, 2 * lay.cosize(a))
    both = rnd.image(make_layout((a, r)))
    assert len(set(both)) == len(both)
    assert set(range(2 * lay.cosize(a))) <= set(both)
    assert rnd.image(r) == sorted(rnd.image(r))


@given(rnd.layouts)
def test_the_right_inverse_is_undone_by_the_layout(a):
    assert [a(i) for i in rnd.image(lay.right_inverse(a))] == list(range(lay.size(lay.right_inverse(a))))


@given(rnd.compact_layouts)
def test_the_right_inverse_of_a_bijection_is_whole(a):
    assert lay.size(lay.right_inverse(a)) == lay.size(a)


@given(rnd.injective_layouts)
def test_the_left_inverse_undoes_the_layout(a):
    r = accepted(lay.left_inverse, a)
    assert [r(i) for i in rnd.image(a)] == list(range(lay.size(a)))


@given(rnd.layouts, rnd.layouts)
def test_the_common_vector_is_contiguous_in_both(a, b):
    common = accepted(lay.max_common_layout, a, b)
    for i, index in enumerate(rnd.image(common)):
        assert a(index) == b(index) == i
    assert lay.max_common_vector(a, b) == lay.size(common)


@given(rnd.compact_layouts)
def test_recast_covers_the_same_bytes(a):
    wide = accepted(lay.recast_layout, 32, 16, a)
    assume(2 * lay.size(wide) == lay.size(a))
    assert sorted(half for i in rnd.image(wide) for half in (2 * i, 2 * i + 1)) == sorted(rnd.image(a))


def test_composition_refuses_what_upstream_gets_wrong():
    with pytest.raises(LayoutError) as error:
        lay.composition(make_layout((4, 6), stride=(1, 9)), make_layout(6, stride=3))
    assert str(error.value) == (
        "composition (4,6):(1,9) o 6:3: 6 elements with stride 3 cross mode 0, whose extent 4 "
        "they do not divide\nfix: choose a tile that divides the mode"
    )


def test_complement_refuses_what_reaches_an_index_twice():
    with pytest.raises(LayoutError) as error:
        lay.complement(make_layout((4, 4), stride=(1, 2)), 16)
    assert str(error.value).startswith("complement: (4,4):(1,2) reaches an index twice")
