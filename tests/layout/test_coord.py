"""Laws of coordinates."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import layout as lay
from dsl.layout import LayoutError
from tests.layout import random_layouts as rnd


@given(rnd.shapes)
def test_idx2crd_enumerates_column_major(shape):
    assert [lay.idx2crd(i, shape) for i in range(lay.size(shape))] == rnd.coords(shape)


@given(rnd.shapes)
def test_crd2idx_inverts_idx2crd(shape):
    assert [lay.crd2idx(c, shape) for c in rnd.coords(shape)] == list(range(lay.size(shape)))


@given(rnd.shapes, rnd.shapes, st.integers(0, 500))
def test_crd2crd_keeps_the_index(a, b, i):
    i %= lay.size(a)
    assert lay.crd2idx(lay.crd2crd(lay.idx2crd(i, a), a, b), b) == i


@given(rnd.shapes)
def test_increment_coord_walks_the_coordinates(shape):
    coord = lay.idx2crd(0, shape)
    for expected in rnd.coords(shape)[1:]:
        coord = lay.increment_coord(coord, shape)
        assert coord == expected
    assert lay.crd2idx(lay.increment_coord(coord, shape), shape) == lay.size(shape)  # and on past the last mode


def test_elem_less_is_a_conjunction():
    assert lay.elem_less((1, (2, 3)), (2, (3, 4))) is True
    assert lay.elem_less((1, (2, 4)), (2, (3, 4))) is False
    with pytest.raises(LayoutError):
        lay.elem_less((1, 2), (1, 2, 3))


def test_the_error_of_a_wrong_rank_names_the_right_one():
    with pytest.raises(LayoutError) as error:
        lay.crd2idx((1, 2, 3), (4, 8))
    assert str(error.value) == (
        "the coordinate (1,2,3) does not fit the shape (4,8)\nfix: give 2 coordinates, or one index"
    )


settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
settings.load_profile("quick")
