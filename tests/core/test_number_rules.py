"""Rules for numbers: the common type of two, and which surface's are in force where."""

import itertools

import numpy as np
import pytest

from dsl.core import number_rules
from dsl.core.number.dtypes import Float32, Int8, Int32, Int64, Uint8, Uint32, Uint64
from dsl.core.number_rules import CUTE, Rules, current, using, wider

NUMPY = {Int8: np.int8, Int32: np.int32, Int64: np.int64, Uint8: np.uint8, Uint32: np.uint32, Uint64: np.uint64}


def test_the_wider_of_two_integers_is_numpys_where_one_holds_both():
    for a, b in itertools.product(NUMPY, repeat=2):
        common = wider(a, b)
        assert common is wider(b, a) and common in (a, b)
        if np.can_cast(NUMPY[a], NUMPY[b]):
            assert common is b
        if a.width == b.width and a.signed != b.signed:
            assert not common.signed


def test_a_float_beats_every_integer():
    assert all(wider(dtype, Float32) is Float32 is wider(Float32, dtype) for dtype in NUMPY)


def test_rules_are_in_force_inside_their_with_alone():
    other = Rules(floor_mod=True)
    assert current() is CUTE
    with using(other):
        assert current() is other
        with using(number_rules.CUTE):
            assert current() is CUTE
        assert current() is other
    with pytest.raises(KeyError), using(other):
        raise KeyError
    assert current() is CUTE
