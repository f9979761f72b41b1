"""Laws of nested integer tuples."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import layout as lay
from dsl.layout import LayoutError
from tests.layout import random_layouts as rnd


@given(rnd.shapes)
def test_flatten_and_unflatten_are_inverse(shape):
    assert lay.unflatten(lay.flatten_to_tuple(shape), shape) == shape


@given(rnd.shapes)
def test_size_counts_the_coordinates(shape):
    assert lay.size(shape) == lay.product(shape) == len(rnd.coords(shape))


@given(st.integers(1, 300), st.integers(1, 60))
def test_ceil_div_and_round_up(a, b):
    assert (lay.ceil_div(a, b) - 1) * b < a <= lay.ceil_div(a, b) * b
    assert lay.round_up(a, b) == lay.ceil_div(a, b) * b


@given(rnd.shapes, rnd.shapes)
def test_congruent_is_about_nesting_only(a, b):
    assert lay.is_congruent(a, lay.repeat_like(7, a))
    assert lay.is_congruent(a, b) == (lay.is_weakly_congruent(a, b) and lay.is_weakly_congruent(b, a))


@given(rnd.shapes)
def test_a_shape_is_compatible_with_its_size(shape):
    assert lay.is_compatible(lay.size(shape), shape)


def test_shape_div_takes_elements_from_the_left():
    assert lay.shape_div((4, 6), 12) == (1, 2)
    assert lay.shape_div((12, 3), (4, 6)) == (3, 1)
    with pytest.raises(LayoutError) as error:
        lay.shape_div(12, 5)
    assert str(error.value) == (
        "shape_div: neither of 12 and 5 divides the other\nfix: pad the shape or choose a tile that divides it"
    )


class Recorded:
    """A dynamic integer that writes down what is done to it."""

    def __init__(self, text="n"):
        self.text = text

    def _with(self, sign, a, b):
        return Recorded(f"({getattr(a, 'text', a)}{sign}{getattr(b, 'text', b)})")

    __add__ = __radd__ = lambda self, other: self._with("+", self, other)
    __mul__ = __rmul__ = lambda self, other: self._with("*", self, other)
    __sub__ = lambda self, other: self._with("-", self, other)
    __floordiv__ = lambda self, other: self._with("/", self, other)
    __mod__ = lambda self, other: self._with("%", self, other)


def test_static_parts_fold_around_a_dynamic_leaf():
    n = Recorded()
    assert lay.product((n, 1, 1)) is n
    assert lay.product((2, n, 3)).text == "((n*2)*3)"
    assert lay.crd2idx((n, 0), lay.make_layout((8, 4))) is n
    assert lay.crd2idx((0, n), lay.make_layout((8, 4), stride=(4, 1))) is n
    assert lay.crd2idx((3, n), lay.make_layout((8, 4), stride=(4, 0))) == 12
    assert lay.idx2crd(n, (1, 8)) == (0, n)


def test_dynamic_extents_go_through_layouts():
    n = Recorded()
    layout = lay.make_layout((n, 8))
    assert str(layout) == "(?,8):(1,?)"
    divided = lay.zipped_divide(lay.make_layout((n, n), stride=(n, 1)), (4, 8))
    assert str(divided) == "((4,8),(?,?)):((?,1),(?,8))"
    assert divided.shape[1][0].text == "((n+3)/4)"
    assert str(lay.composition(layout, (4, None))) == "(4,8):(1,?)"
    assert str(lay.slice_(layout, (n, None))) == "(8):(?)"


settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
settings.load_profile("quick")
