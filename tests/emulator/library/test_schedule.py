"""Whose turn it is among the threads of a block, and when they wait for ever."""

import ctypes

import numpy as np
import pytest

from dsl.emulator.machine import context
from dsl.emulator.machine.numbers import DecisionList, meeting
from tests.emulator.library.own_block import CALLED, Block, Grid


def test_every_thread_runs_once_in_order_and_no_other():
    log = []

    def body(thread):
        log.append(thread.tid)
        yield from ()

    block = Block(threads=100).run(body)
    assert log == list(range(100)) and list(block.ctx.exited[:4]) == [2**32 - 1] * 3 + [15]


def test_a_seed_chooses_an_order_which_is_the_same_each_time():
    def order(seed):
        log = []

        def body(thread):
            log.append(thread.tid)
            yield from ()

        block = Block(threads=128)
        block.ctx.order = seed
        block.run(body)
        return log

    orders = [order(seed) for seed in (1, 2, 3)]
    assert all(sorted(each) == list(range(128)) for each in orders)
    assert orders == [order(seed) for seed in (1, 2, 3)]
    assert orders[0] != orders[1] and list(range(128)) not in orders


def test_a_block_that_only_polls_gives_way_and_goes_on_where_it_was():
    looks = []

    def body(thread):
        while len(looks) < 1000:
            looks.append(thread.tid)
            yield

    block = Block(threads=1)
    block.ctx.patience = 50
    block.run(body)
    assert block.ctx.state == context.WAITING and 50 <= len(looks) <= 55
    first = len(looks)
    block.run()
    assert block.ctx.state == context.WAITING and 1 <= len(looks) - first <= 5
    while block.ctx.state == context.WAITING:
        block.run()
    assert len(looks) == 1000 and block.ctx.status == 0


def test_threads_at_mbarriers_that_go_on_now_and_then_do_not_wait_for_ever():
    block, rounds = Block(threads=2), []
    block.ctx.patience = 10**6

    def body(thread):
        for _ in range(1000):
            for _ in range(50):
                block.ctx.in_mbarrier[0] |= 1 << thread.tid
                rounds.append(thread.tid)
                yield
            yield from thread.sync()

    assert block.run(body).ctx.status == 0 and len(rounds) == 100_000


def test_decisions_that_are_left_out_are_as_without_a_seed():
    """A list of decisions: its head (DecisionList), and a byte for each."""

    def order(listed):
        log = []

        def body(thread):
            log.append(thread.tid)
            yield from ()

        block = Block(threads=64)
        block.ctx.order = 5
        head = ctypes.sizeof(DecisionList)
        decisions = np.zeros(head + 40, np.uint8)
        DecisionList.from_buffer(decisions).limit = 40
        decisions[head:] = listed
        block.ctx.decisions = decisions.ctypes.data
        block.run(body)
        return log, int(decisions[:8].view(np.uint64)[0])

    none, count = order(0)
    assert none == list(range(64)) and count >= 3  # the first warp, and lanes of each
    chosen, _ = order(1)
    assert sorted(chosen) == list(range(64)) and chosen != none


def test_threads_that_poll_memory_for_ever_are_found():
    looks = []
    block = Block(threads=1)
    checked = CALLED(lambda address: None)
    block.ctx.begin_checks = ctypes.cast(checked, ctypes.c_void_p).value  # checked code is slow: it is found sooner

    def body(thread):
        while len(looks) < 100_000:
            looks.append(0)
            yield

    block.run(body)
    while block.ctx.state == context.WAITING and not block.ctx.status:
        block.run()
    assert block.ctx.status == context.DEADLOCK and 1 << 14 <= len(looks) < 1 << 16


def test_another_block_that_moves_keeps_those_that_poll():
    grid, looks = Grid(), []
    other, block = Block(threads=1, grid=grid), Block(threads=1, grid=grid)
    other.ctx.state = context.RUNNING
    checked = CALLED(lambda address: None)
    block.ctx.begin_checks = ctypes.cast(checked, ctypes.c_void_p).value

    def body(thread):
        while len(looks) < 70_000:
            looks.append(0)
            yield

    block.run(body)
    while block.ctx.state == context.WAITING and not block.ctx.status:
        block.run()
    assert block.ctx.status == 0 and len(looks) == 70_000


def polls(block: Block, looks: int, works: bool = False) -> Block:
    """A thread that polls, so often in all that the block ends well if nobody stops it; or that `works`."""
    seen = []

    def body(thread):
        while len(seen) < looks:
            seen.append(0)
            if works:
                block.ctx.idle = 0
            yield

    block.run(body)
    while block.ctx.state == context.WAITING and not block.ctx.status:
        block.run()
    return block


@pytest.mark.parametrize("gives_way, works, checked", [(1, True, True), (0, False, False), (0, True, True)])
def test_threads_may_go_on_longer_that_work_or_that_nobody_checks(gives_way, works, checked):
    block, callback = Block(threads=1), CALLED(lambda address: None)
    block.ctx.gives_way = gives_way
    block.ctx.begin_checks = ctypes.cast(callback, ctypes.c_void_p).value if checked else 0
    assert polls(block, 40_000, works).ctx.status == 0


@pytest.mark.parametrize("gives_way", [0, 1])
def test_threads_that_only_poll_end_also_if_they_give_way_before_each_access(gives_way):
    block, callback = Block(threads=1), CALLED(lambda address: None)
    block.ctx.gives_way = gives_way
    block.ctx.begin_checks = ctypes.cast(callback, ctypes.c_void_p).value
    assert polls(block, 40_000).ctx.status == context.DEADLOCK


@pytest.mark.parametrize(
    "state, idle, ends",
    [
        (context.RUNNING, 0, False),
        (context.WAITING, 0, False),
        (context.RUNNING, 1 << 20, True),
        (context.WAITING, 1 << 20, True),
        (context.IDLE, 0, True),
        (context.DEAD, 0, True),
    ],
)
def test_who_polls_waits_for_ever_where_no_other_block_does_more(state, idle, ends):
    grid, callback = Grid(), CALLED(lambda address: None)
    other, block = Block(threads=1, grid=grid), Block(threads=1, grid=grid)
    other.ctx.state, other.ctx.idle = state, idle
    block.ctx.begin_checks = ctypes.cast(callback, ctypes.c_void_p).value
    assert polls(block, 40_000).ctx.status == (context.DEADLOCK if ends else 0)


def test_a_block_that_works_neither_gives_way_nor_waits_for_ever():
    def body(thread):
        for _ in range(40_000):
            yield from thread.sync()

    block, callback = Block(threads=1), CALLED(lambda address: None)
    block.ctx.patience = 4
    block.ctx.begin_checks = ctypes.cast(callback, ctypes.c_void_p).value
    block.run(body)
    assert block.ctx.status == 0 and block.ctx.state == context.RUNNING and len(block.generators) == 1


def test_a_seed_chooses_how_long_a_block_polls_before_it_gives_way():
    rounds = []

    def body(thread):
        while len(rounds) < 50:
            turn[0] += 1
            yield

    block = Block(threads=1)
    block.ctx.order, block.ctx.state, turn = 7, context.IDLE, [0]
    block.run(body)
    while block.ctx.state == context.WAITING:
        rounds.append(turn[0])
        turn[0] = 0
        block.run()
    assert len(rounds) == 50 and 2 < len(set(rounds)) and max(rounds) < 40


def test_lanes_that_have_met_go_on_after_other_warps_where_one_of_their_warp_polls():
    log = []

    def body(thread):
        if thread.tid == 0:
            yield
        elif thread.tid < 32:
            yield from thread.meet(meeting.WARP_SYNC, 2**32 - 2)
        log.append(thread.tid)

    assert Block(threads=64).run(body).ctx.status == 0
    assert log == [*range(32, 64), *range(32)]


def test_no_thread_runs_after_a_fault():
    """A thread has it, or a meeting of a warp."""
    log = []

    def faults(thread):
        log.append(thread.tid)
        thread.block.ctx.status = context.TRAP
        yield

    assert Block(threads=64).run(faults).ctx.status == context.TRAP and log == [0]

    def meets(thread):
        yield from thread.meet(meeting.COLLECTIVE, 3)
        log.append(thread.tid)

    log.clear()
    block = Block(threads=2).run(meets)
    assert (block.ctx.status, block.ctx.detail, log) == (context.ILLEGAL, context.PARTIAL_WARP, [])


def test_a_block_goes_on_where_only_signals_are_to_be_heard():
    log = []

    def body(thread):
        thread.block.ctx.stop = context.ASKED
        yield
        log.append(thread.tid)

    block = Block(threads=2).run(body)
    assert (block.ctx.status, block.ctx.stop, log) == (0, 0, [0, 1])


def test_a_stop_ends_the_block():
    def body(thread):
        thread.block.ctx.stop = 1
        while True:
            yield

    assert Block().run(body).ctx.status == context.INTERRUPTED


def test_threads_that_wait_at_barriers_for_ever_are_found_at_once():
    turns = []

    def body(thread):
        turns.append(thread.tid)
        if thread.tid:
            yield from thread.sync(thread.tid % 2)

    block = Block(threads=3).run(body)
    assert block.ctx.status == context.DEADLOCK and turns == [0, 1, 2]
    assert block.ctx.in_barrier[0] == 0b110


def test_lanes_of_a_warp_that_wait_for_a_lane_elsewhere_are_found_at_once():
    def body(thread):
        yield from thread.sync(1) if thread.tid else thread.meet(meeting.WARP_SYNC, 3)

    block = Block(threads=2).run(body)
    assert block.ctx.status == context.DEADLOCK
    assert (block.ctx.in_warp[0], block.ctx.in_barrier[0]) == (1, 2)


def test_a_warp_goes_on_after_its_meeting_before_the_next_warp_begins():
    log = []

    def body(thread):
        yield from thread.meet(meeting.WARP_SYNC, 2**32 - 1)
        log.append(thread.tid)
        yield from thread.meet(meeting.WARP_SYNC, 2**32 - 1)
        log.append(thread.tid)

    Block(threads=64).run(body)
    assert log == [*range(32), *range(32), *range(32, 64), *range(32, 64)]


def test_threads_that_wait_at_mbarriers_for_ever_are_found():
    block = Block(threads=2)

    def body(thread):
        while True:  # as families/mbarrier/emit.py does where the phase has not ended
            block.ctx.in_mbarrier[0] |= 1 << thread.tid
            yield

    block.run(body)
    turns = 1
    while block.ctx.state == context.WAITING and not block.ctx.status:
        turns += 1
        block.run()
    assert block.ctx.status == context.DEADLOCK and 100 < turns < 12_000  # of three rounds; polls get 2**20 rounds


def test_a_thread_that_polls_memory_keeps_those_at_mbarriers_waiting():
    block, looks = Block(threads=2), []

    def body(thread):
        while len(looks) < 70_000:
            looks.append(thread.tid)
            if thread.tid == 0:
                block.ctx.in_mbarrier[0] |= 1
            yield

    block.run(body)
    while block.ctx.state == context.WAITING:
        block.run()
    assert block.ctx.status == 0


def pause(block: Block, *turns: int) -> DecisionList:
    """Let warps pause at these turns of `block`."""
    head, limit = ctypes.sizeof(DecisionList), 40_000
    block.ctx.decisions = block.zeros(head + limit)
    for turn in turns:
        ctypes.c_uint8.from_address(block.ctx.decisions + head + turn).value = 1
    decisions = DecisionList.from_address(block.ctx.decisions)
    decisions.limit, decisions.pauses = limit, 1
    return decisions


def run_to_end(block: Block, body) -> Block:
    block.run(body)
    while block.ctx.state == context.WAITING and not block.ctx.status:
        block.run()
    return block


@pytest.mark.parametrize(
    "does, least",
    [("exits", 1), ("meets", 1000 + 256), ("works", 1000 + 256), ("polls", 256), ("works for ever", 1 << 14)],
)
def test_a_pause_lasts_until_other_warps_have_long_done_nothing_but_poll(does, least):
    log = []

    def body(thread):
        log.append(thread.tid)
        if thread.tid < 32 or does == "exits":
            return
        while 0 not in log:
            works = does == "works for ever" or len(log) <= 1000
            if works and does.startswith("works"):
                thread.block.ctx.idle = 0  # as code does that gives way elsewhere
            if works and does == "meets":
                yield from thread.sync(1, 32)
            else:
                yield
            log.append(thread.tid)

    block = Block(threads=33)
    pause(block, 0)
    assert run_to_end(block, body).ctx.status == 0
    assert least <= log.index(0) <= least + 5


def test_a_warp_has_no_turn_while_its_lanes_wait():
    """So the number of a turn at which a warp pauses is the same in each run."""

    def body(thread):
        for _ in range(5 * (thread.tid == 32)):
            yield
        yield from thread.sync()

    block = Block(threads=33)
    decisions = pause(block)
    assert run_to_end(block, body).ctx.status == 0
    assert decisions.taken == 2 + 5 + 2  # both, the one that polls, both


@pytest.mark.parametrize("works, least", [(False, 1 << 15), (True, 10_010 + (1 << 15))])
def test_a_pause_of_threads_that_poll_neither_starts_their_count_again_nor_adds_to_it(works, least):
    """If a thread works meanwhile, the count starts again."""
    looks = []
    block, checked = Block(threads=33), CALLED(lambda address: None)
    block.ctx.begin_checks = ctypes.cast(checked, ctypes.c_void_p).value

    def body(thread):
        while True:
            if thread.tid == 32:
                looks.append(0)
                if works and len(looks) == 10_010:
                    block.ctx.idle = 0
            yield

    pause(block, 20_000)
    run_to_end(block, body)
    assert block.ctx.status == context.DEADLOCK and least <= len(looks) < least + 300
