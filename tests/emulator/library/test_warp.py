"""Lanes of a warp that meet. PTX ISA 9.7.9.6 (shfl), 9.7.13.2 (bar.warp.sync)."""

import ctypes
import random

import pytest

from dsl.emulator.machine import context
from dsl.emulator.machine.numbers import meeting
from tests.emulator.library.own_block import CALLED, ORDERED, Block

WARP_SYNC, UP, DOWN, BUTTERFLY, INDEX = range(5)
ALL = 2**32 - 1


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
def test_a_shuffle_reads_the_lane_that_the_isa_defines(mode):
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


def met(key: int, values: list[int], mask: int = ALL) -> list[tuple[int, bool]]:
    """The results of the lanes of a mask, where each gives its value; the others go on."""
    got = {}

    def body(thread):
        if mask >> thread.tid & 1:
            yield from thread.meet(key, mask, a=values[thread.tid])
            got[thread.tid] = thread.out

    assert Block().run(body).ctx.status == 0
    return [got[lane] for lane in range(32) if mask >> lane & 1]


@pytest.mark.parametrize("mask", [ALL, 0x0F0F00F0])
@pytest.mark.parametrize("equal", [False, True])
def test_lanes_that_match_know_each_other(mask, equal):
    """match.any gives each lane those with its value; match.all gives all, or 0 and false where values differ."""
    values = [7 if equal else lane % 3 << 40 for lane in range(32)]
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    same = [sum(1 << other for other in lanes if values[other] == values[lane]) for lane in lanes]
    assert [out for out, _ in met(meeting.MATCH_ANY, values, mask)] == same
    assert met(meeting.MATCH_ALL, values, mask) == [(mask if equal else 0, equal)] * len(lanes)


@pytest.mark.parametrize("mask", [ALL, 0b1100])
@pytest.mark.parametrize("votes", [0, 0b0100, ALL])
def test_a_vote_gives_the_ballot(mask, votes):
    lanes = mask.bit_count()
    got = met(meeting.VOTE, [votes >> lane & 1 for lane in range(32)], mask)
    assert got == [(votes & mask, votes & mask == mask)] * lanes


def test_the_lowest_lane_of_a_mask_is_elected():
    assert met(meeting.ELECT, [0] * 32, 0b111000) == [(3, True), (3, False), (3, False)]


def test_a_lane_that_a_shuffle_asks_for_in_vain_is_noted():
    def body(thread):
        if thread.tid < 2:
            yield from thread.meet(DOWN, 3, a=70 + thread.tid, b=1, c=31)
            got.append(thread.out)

    got = []
    block = Block().run(body)
    assert got == [(71, True), (71, True)] and block.ctx.seen == context.SEEN_ABSENT_LANE
    bits = [(block.ctx.c[tid] & 255, block.ctx.c[tid] >> 9 & 1, block.ctx.c[tid] >> 16) for tid in (0, 1)]
    assert bits == [(1, 0, 1), (1, 1, 2)]


@pytest.mark.parametrize("checked", [False, True])
def test_a_shuffle_takes_marks_of_undefined_values_along_where_they_are_checked(checked):
    def body(thread):
        yield from thread.meet(BUTTERFLY, ALL, b=3, c=31)

    block, callback = Block(), CALLED(lambda address: None)
    block.ctx.begin_checks = ctypes.cast(callback, ctypes.c_void_p).value if checked else 0
    block.ctx.mark_given[:32] = range(50, 82)
    block.run(body)
    assert block.ctx.mark_got[:32] == [50 + (lane ^ 3) if checked else 0 for lane in range(32)]


def test_lanes_with_other_keys_or_masks_meet_apart():
    def body(thread):
        mask = 0xFF if thread.tid < 8 else ALL & ~0xFF
        yield from thread.meet(meeting.VOTE | (thread.tid >= 20) << 8, mask, a=1)
        got[thread.tid] = thread.out

    got = {}
    block = Block().run(body)
    assert got == {tid: (0xFF, True) for tid in range(8)} and block.ctx.status == context.DEADLOCK
    assert block.ctx.in_warp[0] == ALL & ~0xFF


def test_active_lanes_are_those_that_reached_the_same_instruction():
    def body(thread):
        thread.block.wait_active(thread.tid, 5 if thread.tid % 3 else 6)
        yield
        got[thread.tid] = thread.out[0]

    got = {}
    assert Block().run(body).ctx.status == 0
    groups = [sum(1 << lane for lane in range(32) if bool(lane % 3) == each) for each in (False, True)]
    assert got == {lane: groups[lane % 3 > 0] for lane in range(32)}


def test_a_checker_hears_which_lanes_a_meeting_orders():
    """A barrier of the warp does, elect its execution alone; a shuffle, a vote or a match orders nothing."""
    heard = []

    def body(thread):
        yield from thread.meet(meeting.ELECT | 1 << 8, ALL)
        for key in (UP, meeting.VOTE, meeting.MATCH_ANY, meeting.REDUX, meeting.WARP_SYNC | 1 << 8):
            yield from thread.meet(key, ALL)
        yield from thread.meet(WARP_SYNC, ALL)

    block = Block(threads=64)
    callback = ORDERED(lambda _, what, *rest: heard.append((what, *rest)) or 0)
    block.ctx.order_call = ctypes.cast(callback, ctypes.c_void_p).value
    assert block.run(body).ctx.status == 0
    assert heard == [(context.ORDER_WARP, warp, ALL, is_election) for warp in (0, 1) for is_election in (1, 0)]


def test_a_checker_hears_of_lanes_that_left_before_a_meeting():
    heard = []

    def body(thread):
        if thread.tid:
            yield from thread.meet(UP, ALL)

    block = Block()
    callback = ORDERED(lambda _, *rest: heard.append(rest) or 0)
    block.ctx.order_call = ctypes.cast(callback, ctypes.c_void_p).value
    block.run(body)
    assert heard == [(context.ORDER_WARP_MEETING, 1, ALL - 1, 1)]


COLLECTIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)


class Area:
    """The area that lanes of a collective name: it begins with the function that is called for all of them."""

    def __init__(self):
        self.calls = []
        self._function = COLLECTIVE(lambda _, base: self.calls.append(base))
        self._words = (ctypes.c_uint64 * 1)(ctypes.cast(self._function, ctypes.c_void_p).value)
        self.address = ctypes.addressof(self._words)


def test_a_collective_takes_whole_warps():
    area, after = Area(), []

    def body(thread):
        yield from thread.meet(meeting.COLLECTIVE, ALL, a=area.address)
        after.append(thread.tid)

    assert Block(threads=64).run(body).ctx.status == 0
    assert area.calls == [0, 32] and after == list(range(64))

    def some(thread):
        if thread.tid:
            yield from thread.meet(meeting.COLLECTIVE, ALL, a=area.address, site=4)

    block = Block(threads=32).run(some)
    assert block.record == (context.ILLEGAL, 4, 1, 1, 0, context.PARTIAL_WARP) and len(area.calls) == 2


def test_four_warps_make_a_warpgroup():
    area, log = Area(), []

    def body(thread):
        if thread.tid == 140:
            yield
        log.append(("comes", thread.tid))
        yield from thread.meet(meeting.WARPGROUP, ALL, a=area.address)
        log.append(("goes on", len(area.calls)))

    assert Block(threads=256).run(body).ctx.status == 0
    assert area.calls == [0, 128] and sorted(log)[:256] == [("comes", tid) for tid in range(256)]
    assert log.count(("goes on", 1)) == log.count(("goes on", 2)) == 128


def test_warps_with_other_keys_make_no_warpgroup():
    area = Area()

    def body(thread):
        yield from thread.meet(meeting.WARPGROUP | (thread.tid >= 96) << 8, ALL, a=area.address)

    assert Block(threads=128).run(body).ctx.status == context.DEADLOCK and area.calls == []


@pytest.mark.parametrize("threads, left, told", [(96, [], 0), (160, [], 128), (128, [127], 96), (128, [96, 97], 98)])
def test_a_warpgroup_has_128_threads(threads, left, told):
    """The fault names the first thread that waits in a warp."""
    area = Area()

    def body(thread):
        if thread.tid not in left:
            yield from thread.meet(meeting.WARPGROUP, ALL, a=area.address, site=4)

    block = Block(threads=threads).run(body)
    here = threads % 128 or 128 - len(left)
    assert block.record == (context.ILLEGAL, 4, told, here, 0, context.PARTIAL_WARPGROUP)
    assert area.calls == [0] * (threads > 128)
