"""Tuple algorithms on int tuples: Python's own functions of flat tuples, paths, and what is refused."""

import math
import operator

import pytest
from hypothesis import given, strategies as st

from dsl.layout import LayoutError
from dsl.layout.int_tuple import flatten_to_tuple
from dsl.layout.tuples import (
    filter_tuple,
    find_if,
    front,
    product_like,
    repeat,
    repeat_as_tuple,
    transform_apply,
    tuple_cat,
)

FLAT = st.lists(st.integers(0, 9), max_size=5).map(tuple)
TREE = st.recursive(st.integers(0, 9), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=8)


@given(FLAT, FLAT)
def test_joining_is_pythons_sum(a, b):
    assert tuple_cat(a, b) == a + b and tuple_cat(a, 7) == (*a, 7)


@given(TREE)
def test_functions_see_the_leaves_from_left_to_right(tree):
    leaves = flatten_to_tuple(tree)
    assert transform_apply(tree, tree, f=operator.mul, g=lambda *each: sum(each)) == sum(leaf * leaf for leaf in leaves)
    assert filter_tuple(tree, f=lambda x: (x,) if x % 2 else ()) == tuple(x for x in leaves if x % 2)


@given(TREE, st.integers(0, 9))
def test_the_path_of_the_first_leaf_leads_to_it(tree, wanted):
    path = find_if(tree, lambda leaf, _: leaf == wanted)
    leaves = flatten_to_tuple(tree)
    if wanted not in leaves:
        assert path is None
        return
    if not isinstance(tree, tuple):
        assert path == 0
        return
    at, before = tree, []
    for index in path if isinstance(path, tuple) else (path,):
        before += flatten_to_tuple(at[:index])
        at = at[index]
    assert at == wanted and wanted not in before
    assert find_if(tree, lambda leaf, _: leaf == wanted, hierarchical=False) == (
        path[0] if isinstance(path, tuple) else path
    )


def test_products_in_the_place_of_the_profiles_leaves():
    assert product_like(((2, 3), 4), (1, 1)) == (6, 4) and product_like(((2, 3), 4), ((1, 1), 1)) == ((2, 3), 4)
    assert product_like((2, (3, 5)), 1) == math.prod((2, 3, 5))


def test_repetitions_and_fronts():
    assert (repeat_as_tuple(5, 3), repeat(5, 1), repeat(5, 2)) == ((5,) * 3, 5, (5, 5))
    assert front((((4, 5), 6), 7)) == 4 and front(3) == 3


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: transform_apply((1, 2), (1, (2, 3)), f=min, g=min), "transform_apply: (1,2), (1,(2,3)) are not nested alike"),
        (lambda: transform_apply(f=min, g=min), "transform_apply takes at least one tuple"),
        (lambda: product_like((2, 3), ((1, 1), 1)), "product_like: 2 has not the modes of the profile (1,1)"),
        (lambda: repeat_as_tuple(5, 0), "a tuple of 0 elements"),
        (lambda: front(()), "front: () has no first element"),
    ],
)  # fmt: skip
def test_calls_that_are_refused(call, text):
    with pytest.raises(LayoutError) as error:
        call()
    assert error.value.message == text and error.value.fix


def test_every_leaf_of_a_product_is_met():
    seen = []
    find_if(((1, 2), 3), lambda leaf, path: seen.append((leaf, path)))
    assert seen == [(1, (0, 0)), (2, (0, 1)), (3, 1)]
