"""Laws of layouts as functions, and of what picks and orders their modes."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import layout as lay
from dsl.layout import E, Layout, LayoutError, make_layout
from tests.layout import random_layouts as rnd

settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
settings.load_profile("quick")


@given(rnd.layouts)
def test_an_index_and_its_coordinate_give_the_same(layout):
    assert rnd.image(layout) == [layout(c) for c in rnd.coords(layout.shape)]


@given(rnd.layouts)
def test_cosize_is_one_more_than_the_largest_index(layout):
    assert lay.cosize(layout) == max(rnd.image(layout)) + 1


@given(rnd.shapes)
def test_make_layout_is_the_identity_on_indices(shape):
    assert rnd.image(make_layout(shape)) == list(range(lay.size(shape)))


@given(rnd.shapes, rnd.randoms)
def test_make_ordered_layout_is_compact(shape, random):
    order = list(range(len(lay.flatten_to_tuple(shape))))
    random.shuffle(order)
    layout = lay.make_ordered_layout(shape, lay.unflatten(order, shape))
    assert sorted(rnd.image(layout)) == list(range(lay.size(shape)))
    leaves = zip(order, lay.flatten_to_tuple(layout.stride), lay.flatten_to_tuple(shape), strict=True)
    strides = [(o, d) for o, d, s in leaves if s > 1]
    assert [d for _, d in sorted(strides)] == sorted(d for _, d in strides)


@given(rnd.injective_layouts)
def test_make_layout_like_is_compact_in_the_same_order(layout):
    like = lay.make_layout_like(layout)
    assert sorted(rnd.image(like)) == list(range(lay.size(layout)))
    leaves = [t for t in zip(*map(lay.flatten_to_tuple, (layout.shape, layout.stride, like.stride))) if t[0] > 1]
    assert sorted(leaves, key=lambda t: t[1]) == sorted(leaves, key=lambda t: t[2])


@given(rnd.shapes)
def test_the_identity_layout_maps_coordinates_to_themselves(shape):
    layout = lay.make_identity_layout(shape)
    assert rnd.image(layout) == rnd.coords(shape)


@given(rnd.layouts, st.randoms(use_true_random=False))
def test_a_slice_is_the_layout_with_some_modes_fixed(layout, random):
    if not isinstance(layout.shape, tuple):
        return
    fixed = tuple(None if random.random() < 0.5 else random.randrange(lay.size(mode)) for mode in layout.shape)
    sliced, offset = lay.slice_and_offset(fixed, layout)
    free = [i for i, c in enumerate(fixed) if c is None]
    for coord in rnd.coords(tuple(layout.shape[i] for i in free)):
        whole = list(fixed)
        for i, c in zip(free, coord, strict=True):
            whole[i] = c
        assert sliced(coord) + offset == layout(tuple(whole))


@given(rnd.layouts)
def test_slice_and_dice_share_out_the_modes(layout):
    if not isinstance(layout.shape, tuple):
        return
    coord = tuple(None if i % 2 else 0 for i in range(len(layout)))
    kept, dropped = lay.slice_(layout, coord), lay.dice(layout, coord)
    assert lay.size(kept) * lay.size(dropped) == lay.size(layout)
    assert lay.select(layout, range(1, len(layout), 2)) == kept
    assert lay.select(layout, range(0, len(layout), 2)) == dropped


@given(rnd.layouts)
def test_group_and_flatten_keep_the_function(layout):
    assert rnd.image(lay.flatten(layout)) == rnd.image(layout)
    if len(layout) > 1:
        assert rnd.image(lay.group_modes(layout, 0, 2)) == rnd.image(layout)


@given(rnd.compact_layouts)
def test_get_hier_coord_inverts_a_bijection(layout):
    for coord in rnd.coords(layout.shape):
        assert layout.get_hier_coord(layout(coord)) == coord
        assert layout(layout.get_flat_coord(layout(coord))) == layout(coord)


@given(rnd.layouts)
def test_flatten_and_unflatten_for_control_flow(layout):
    leaves, key = layout.__flatten__()
    assert leaves == () and Layout.__unflatten__(key, leaves) == layout and hash(key) is not None


def test_text_and_equality():
    layout = make_layout((4, (2, 3)), stride=(6, (3, 1)))
    assert str(layout) == "(4,(2,3)):(6,(3,1))"
    assert layout == make_layout((4, (2, 3)), stride=(6, (3, 1)))
    assert hash(layout) == hash(Layout((4, (2, 3)), (6, (3, 1))))
    assert layout != make_layout((4, (2, 3)))
    assert str(3 * E([0, 1])) == "3@1@0"
    assert str(lay.make_composed_layout(lay.make_swizzle(2, 3, 3), 0, make_layout(8))) == "S<2,3,3> o 0 o 8:1"


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda: make_layout((4, 8), stride=(8,)),
            "make_layout: shape (4,8) and stride (8) are not congruent\n"
            "fix: give one stride an extent, nested like the shape",
        ),
        (
            lambda: make_layout((4, 0)),
            "make_layout: an extent must be positive, but (4,0) has 0\nfix: write a positive extent",
        ),
        (
            lambda: make_layout([4, 8]),
            "make_layout: [4, 8] is not an extent\nfix: a shape is an integer or a tuple of shapes",
        ),
        (lambda: make_layout((4, 8))[2], "mode 2 does not exist in (4,8), which has 2\nfix: count modes from 0"),
        (
            lambda: lay.group_modes(make_layout((4, 8)), 2, 5),
            "group_modes: (4,8) has 2 modes, but none from 2 to 5\nfix: count modes from 0; the end is one past the last",
        ),
        (
            lambda: lay.cosize(lay.make_identity_layout((4, 8))),
            "cosize: the indices of (4,8):(1@0,1@1) are coordinates\nfix: use size",
        ),
    ],
)
def test_errors_name_the_operation_and_the_fix(call, text):
    with pytest.raises(LayoutError) as error:
        call()
    assert str(error.value) == text


def test_a_layout_composed_with_a_function_prints_as_upstreams():
    def inner(coord):
        return coord

    composed = lay.make_composed_layout(inner, (1, 0), lay.make_layout((8, 4)))
    assert str(composed) == f"({inner} o (1, 0) o (8,4):(1,8))"
