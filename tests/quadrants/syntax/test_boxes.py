"""Loops over several axes run in blocks that are boxes, and visit each iteration once. numpy gives the visits."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dsl.quadrants as qd
from dsl.quadrants.syntax import boxes
from dsl.quadrants.syntax.iterate import Domain

SIDE = 24  # of the arrays that count visits; index 0 of a loop is at LOW
LOW = 8


pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def two(seen: qd.types.ndarray(), a: int, b: int, c: int, d: int, step: int):
    for i, j in qd.ndrange((a, b), (c, d)):
        if (i + j) % step != 1:
            seen[i + 8, j + 8] += 1 + qd.global_thread_idx()


@qd.kernel
def three(seen: qd.types.ndarray(), a: int, b: int, c: int, d: int, e: int, f: int):
    for i, j, k in qd.ndrange((a, b), (c, d), (e, f), axes=(1, 2, 0)):
        if e < k:
            seen[i + 8, j + 8, k + 8] += 1 + qd.global_thread_idx()


@qd.kernel
def four(seen: qd.types.ndarray(), a: int, b: int, c: int, d: int):
    for i, j, k, m in qd.ndrange((a, b), 3, (c, d), 2):
        seen[i + 8, j + 8, k + 8, m + 8] += 1 + qd.global_thread_idx()


def numbers(bounds, order=None) -> dict[tuple, int]:
    """The number of each iteration, from 1, in the loop's order."""
    order = order or range(len(bounds))
    extents = [max(0, bounds[axis][1] - bounds[axis][0]) for axis in order]
    places = {}
    for number, place in enumerate(np.ndindex(*extents)):
        at = [0] * len(bounds)
        for axis, part in zip(order, place):
            at[axis] = part + bounds[axis][0]
        places[tuple(at)] = number + 1
    return places


def visits(rank: int, places: dict[tuple, int]) -> np.ndarray:
    want = np.zeros((SIDE,) * rank, np.int32)
    for place, number in places.items():
        want[tuple(part + LOW for part in place)] += number
    return want


BOUND = st.integers(-8, 15)


@given(st.lists(BOUND, min_size=4, max_size=4), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_bounds_of_a_call_of_two_axes(bounds, step):
    a, b, c, d = bounds
    seen = np.zeros((SIDE, SIDE), np.int32)
    two(seen, a, b, c, d, step)
    places = {at: number for at, number in numbers([(a, b), (c, d)]).items() if np.fmod(sum(at), step) % step != 1}
    np.testing.assert_array_equal(seen, visits(2, places))


@given(st.lists(BOUND, min_size=6, max_size=6))
@settings(max_examples=25, deadline=None)
def test_bounds_of_a_call_of_three_axes_in_another_order(bounds):
    a, b, c, d, e, f = bounds
    seen = np.zeros((SIDE,) * 3, np.int32)
    three(seen, a, b, c, d, e, f)
    places = numbers([(a, b), (c, d), (e, f)], (1, 2, 0))
    np.testing.assert_array_equal(seen, visits(3, {at: number for at, number in places.items() if e < at[2]}))


@given(st.lists(BOUND, min_size=4, max_size=4))
@settings(max_examples=10, deadline=None)
def test_bounds_of_a_call_of_four_axes(bounds):
    a, b, c, d = bounds
    seen = np.zeros((SIDE,) * 4, np.int32)
    four(seen, a, b, c, d)
    np.testing.assert_array_equal(seen, visits(4, numbers([(a, b), (0, 3), (c, d), (0, 2)])))


def launched(running, shape: tuple) -> tuple:
    """The grid and the block of a loop over a new field, whose visits are checked."""
    field = qd.field(qd.i32, shape=shape)

    @qd.kernel
    def visit():
        for place in qd.grouped(field):
            field[place] += 1 + qd.global_thread_idx()

    before = [len(record.launches) for record in running.kernels]
    visit()
    np.testing.assert_array_equal(field.to_numpy().ravel(), np.arange(np.prod(shape)) + 1)
    after = [record.launches[count:] for record, count in zip(running.kernels, [*before, 0])]
    (launch,) = (launch for launches in after for launch in launches)
    return launch["grid"], launch["block"]


@pytest.mark.parametrize("shape, grid, block", [
    ((3, 300), 9, (128, 1, 1)), ((5, 7), 1, (8, 8, 1)), ((100, 1), 1, (1, 128, 1)), ((40, 3, 3), 5, (4, 4, 8)),
    ((2, 3, 4, 5), 2, (8, 4, 4)), ((200, 1, 1, 1), 2, (128, 1, 1)),
])  # fmt: skip
def test_the_blocks_of_a_loop_over_a_field(running, shape, grid, block):
    assert launched(running, shape) == ([grid, 1, 1], list(block))


@pytest.mark.slow
@given(st.lists(st.integers(1, 140), min_size=2, max_size=2) | st.lists(st.integers(1, 9), min_size=3, max_size=5))
@settings(max_examples=60, deadline=None)
def test_fields_of_any_shape(running, shape):
    launched(running, tuple(shape))


EXTENT = st.integers(0, 3000)


@given(st.lists(EXTENT, min_size=2, max_size=5))
def test_boxes_cover_the_loop_and_are_blocks_that_a_gpu_launches(extents):
    cut = boxes.boxes_of(Domain([(0, extent) for extent in extents]))
    if cut is None:
        return
    x, y, z = cut.block
    assert x * y * z <= 128 and z <= 64
    assert all(blocks * side >= extent for blocks, side, extent in zip(cut.blocks, cut.threads, extents))
    assert all((blocks - 1) * side < max(extent, 1) for blocks, side, extent in zip(cut.blocks, cut.threads, extents))


@qd.kernel
def configured(seen: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i, j in qd.ndrange(4, 40):
        seen[i, j] = qd.simt.block.thread_idx()


@qd.kernel
def threads_of_a_box(seen: qd.types.ndarray()):
    for i, j in qd.ndrange(4, 40):
        seen[i, j] = qd.simt.block.thread_idx()


def test_a_block_of_the_author_has_consecutive_iterations():
    seen = np.zeros((4, 40), np.int32)
    configured(seen)
    np.testing.assert_array_equal(seen.ravel(), np.arange(160) % 32)


def test_threads_of_a_box_have_different_numbers():
    seen = np.zeros((4, 40), np.int32)
    threads_of_a_box(seen)
    np.testing.assert_array_equal(seen, np.arange(40)[None] + 64 * (np.arange(4)[:, None] % 2))


@qd.kernel
def too_many(seen: qd.types.ndarray(), n: int):
    for i, j in qd.ndrange(n, 1048576):
        seen[0] = 1


@qd.kernel
def too_many_for_sure(seen: qd.types.ndarray()):
    for i, j in qd.ndrange(1048577, 1048576):
        seen[0] = 1


@pytest.mark.parametrize("kernel, arguments", [(too_many, (1048577,)), (too_many_for_sure, ())])
def test_more_blocks_than_a_grid_has_are_refused(kernel, arguments):
    """Their number must not wrap around to a small one."""
    seen = np.zeros(1, np.int32)
    with pytest.raises(Exception, match="1 to 2147483647 blocks in x"):
        kernel(seen, *arguments)
    assert seen[0] == 0
