"""Lanes of a warp that meet. PTX ISA 9.7.9.6 (shfl), 9.7.13.2 (bar.warp.sync)."""

import random

import pytest

from dsl.emulator.machine import context
from tests.emulator.library.own_block import Block

WARP_SYNC, UP, DOWN, BUTTERFLY, INDEX = range(5)


def shuffle_of_the_isa(mode: int, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The source lane and the predicate, as the pseudo-code of the ISA computes them."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & mask) | (cval & ~mask & 31)
    min_lane = lane & mask
    if mode == UP:
        j = lane - bval
        inside = j >= max_lane
    elif mode == DOWN:
        j = lane + bval
        inside = j <= max_lane
    elif mode == BUTTERFLY:
        j = lane ^ bval
        inside = j <= max_lane
    else:
        j = min_lane | (bval & ~mask & 31)
        inside = j <= max_lane
    return (j if inside else lane), inside


@pytest.mark.parametrize("mode", [UP, DOWN, BUTTERFLY, INDEX])
def test_a_shuffle_reads_the_lane_that_the_isa_says(mode):
    made = random.Random(mode)
    for _ in range(60):
        b = made.randrange(40)
        segment = made.choice((0, 16, 24, 28, 30, 31))
        c = segment << 8 | (0 if mode == UP else made.choice((31, 31, made.randrange(32))))
        got = {}

        def body(thread):
            yield from thread.meet(mode, 2**32 - 1, a=1000 + thread.tid, b=b, c=c)
            got[thread.tid] = thread.out

        assert Block().run(body).ctx.status == 0
        for lane in range(32):
            source, inside = shuffle_of_the_isa(mode, lane, b, c)
            assert got[lane] == (1000 + source, inside), (mode, lane, b, c)


def test_lanes_of_a_mask_meet_and_others_go_on():
    log = []

    def body(thread):
        if thread.tid % 2:
            log.append("odd")
            return
        yield from thread.meet(WARP_SYNC, 0x55555555)
        log.append("even")

    assert Block().run(body).ctx.status == 0
    assert log == ["odd"] * 16 + ["even"] * 16


def test_a_lane_must_be_in_its_mask():
    block = Block()
    assert block.wait_warp(6, WARP_SYNC, 0xF, 0, 0, 0, 11) == 0
    assert block.record == (context.ILLEGAL, 11, 6, 0xF, 0, context.NOT_IN_MASK)
    assert block.ctx.in_warp[0] == 0
