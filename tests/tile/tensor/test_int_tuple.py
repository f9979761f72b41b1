"""Integers and tuples of them: what is one, their texts, and multicast masks against their definition."""

import itertools

import pytest

from dsl.core.errors import DSLUserCodeValueError
from dsl.core.number.dtypes import Boolean, Float32, Int16, Int32
from dsl.layout import Layout, LayoutError
from dsl.tile.tensor import int_tuple


def test_integers_are_recognized():
    assert [int_tuple.is_integer(x) for x in (3, Int32(3), True, 2.0, Float32(2), "3", None)] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip
    assert int_tuple.is_int_tuple((1, (Int32(2), 3))) and not int_tuple.is_int_tuple((1, (2.0,)))
    assert not int_tuple.is_int_tuple([1, 2]) and int_tuple.is_int_tuple(())


def test_python_numbers_become_numbers():
    assert [type(int_tuple.as_numeric(x)) for x in (1, 0.5, True)] == [Int32, Float32, Boolean]
    with pytest.raises(DSLUserCodeValueError) as error:
        int_tuple.as_numeric(len)
    assert error.value.message == "number expected, got function `len`"


def test_texts_leaves_and_divisors():
    assert int_tuple.pretty_str((4, (2, None))) == "(4,(2,_))" and int_tuple.pretty_str(None) == "_"
    assert int_tuple.get_leaves((4, (2, 3))) == (4, 2, 3) and int_tuple.get_leaves(Layout((2, 3), (3, 1))) == (
        2,
        3,
        3,
        1,
    )
    assert int_tuple.get_divisibility(12) == 12 and int_tuple.get_divisibility(Int32(12)) == 1


@pytest.mark.parametrize(
    "shape, stride", [((2, 2), (1, 2)), ((4, 2), (2, 1)), ((2, 4, 2), (8, 1, 4)), ((2, 8), (8, 1))]
)
def test_a_mask_has_a_bit_for_each_index_along_the_mode(shape, stride):
    layout = Layout(shape, stride)
    for mode, coord in itertools.product(range(len(shape)), itertools.product(*map(range, shape))):
        indices = {
            sum(s * p for s, p in zip(stride, place))
            for place in itertools.product(*map(range, shape))
            if all(a == b for k, (a, b) in enumerate(zip(place, coord)) if k != mode)
        }
        mask = int_tuple.make_layout_image_mask(layout, coord, mode)
        assert type(mask) is Int16 and mask.value & 0xFFFF == sum(1 << index for index in indices)


def test_masks_that_are_refused():
    for layout, coord, mode, text in (
        (Layout((2, 2), (1, 2)), (0,), 0, "make_layout_image_mask: mode 0 and the coordinate (0) do not fit (2,2):(1,2)"),
        (Layout((2, 2), (1, 2)), (0, 0), 2, "make_layout_image_mask: mode 2 and the coordinate (0,0) do not fit (2,2):(1,2)"),
        (Layout((4, 8), (8, 1)), (0, 0), 0, "make_layout_image_mask: (4,8):(8,1) reaches an index past 15"),
    ):  # fmt: skip
        with pytest.raises(LayoutError) as error:
            int_tuple.make_layout_image_mask(layout, coord, mode)
        assert error.value.message == text
