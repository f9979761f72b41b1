"""Swizzles of byte addresses as swizzles of elements."""

import itertools
from pathlib import Path

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Float6E2M3FN, Float16, Float32, Uint8
from dsl.layout import Layout, Swizzle
from dsl.tile.memory.swizzled import swizzled_layout

SWIZZLES = [Swizzle(bits, base, shift) for bits, base, shift in itertools.product((1, 2, 3), (4, 5), (3, 4))]


@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_a_swizzle_permutes_its_period_and_repeats(swizzle):
    period = swizzle.period
    image = [swizzle(address) for address in range(period)]
    assert sorted(image) == list(range(period)) and image != list(range(period))
    assert [swizzle(address + period) for address in range(period)] == [address + period for address in image]


@pytest.mark.parametrize("swizzle, dtype", list(itertools.product(SWIZZLES[:4], (Uint8, Float16, Float32))))
def test_an_element_is_where_the_swizzle_puts_its_bytes(swizzle, dtype):
    size_bytes = dtype.storage_width // 8
    layout = swizzled_layout(Layout(1024, 1), dtype, swizzle)
    assert [layout(i) * size_bytes for i in range(1024)] == [swizzle(i * size_bytes) for i in range(1024)]


@pytest.mark.parametrize(
    "layout, dtype, swizzle, message",
    [
        (
            swizzled_layout(Layout(8, 1), Uint8, Swizzle(1, 4, 3)),
            Uint8,
            Swizzle(2, 4, 3),
            "the layout S<1,4,3> o 0 o 8:1 already has a swizzle besides S<2,4,3>",
        ),
        (Layout(8, 1), Float6E2M3FN, Swizzle(2, 4, 3), "a swizzle of byte addresses splits elements of Float6E2M3FN"),
        (Layout(8, 1), Float32, Swizzle(2, 1, 3), "the swizzle S<2,1,3> would split an element of 4 bytes"),
    ],
)
def test_wrong_swizzles_are_refused(layout, dtype, swizzle, message):
    with pytest.raises(DSLUserCodeError) as error:
        swizzled_layout(layout, dtype, swizzle)
    assert error.value.message == message


@pytest.mark.slow
def test_slices_and_partitions_of_swizzled_tensors_are_upstreams(both):
    ours, theirs = both(Path(__file__).with_name("swizzled_program.py"))
    assert theirs.status == 0 and theirs.output.count("\n") > 40, theirs.errors
    assert ours.output == theirs.output
