"""Whose turn it is among the threads of a block, and when they wait for ever."""

import ctypes

import numpy as np

from dsl.emulator.machine import context
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
                block.ctx.mbarrier_waits = 1
                rounds.append(thread.tid)
                yield
            yield from thread.sync()

    assert block.run(body).ctx.status == 0 and len(rounds) == 100_000


def test_decisions_that_are_left_out_are_as_without_a_seed():
    """A list of decisions: how many were taken, how many it has, and a byte for each."""

    def order(listed):
        log = []

        def body(thread):
            log.append(thread.tid)
            yield from ()

        block = Block(threads=64)
        block.ctx.order = 5
        decisions = np.zeros(16 + 40, np.uint8)
        decisions[8:16].view(np.uint64)[0] = 40
        decisions[16:] = listed
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


def test_threads_that_wait_at_mbarriers_for_ever_are_found():
    block = Block(threads=2)

    def body(thread):
        while True:  # as families/mbarrier/emit.py does where the phase has not ended
            block.ctx.in_mbarrier[0] |= 1 << thread.tid
            block.ctx.mbarrier_waits = 1
            yield

    block.run(body)
    turns = 1
    while block.ctx.state == context.WAITING and not block.ctx.status:
        turns += 1
        block.run()
    assert block.ctx.status == context.DEADLOCK and turns > 100


def test_a_thread_that_polls_memory_keeps_those_at_mbarriers_waiting():
    block, looks = Block(threads=2), []

    def body(thread):
        while len(looks) < 70_000:
            looks.append(thread.tid)
            if thread.tid == 0:
                block.ctx.in_mbarrier[0] |= 1
                block.ctx.mbarrier_waits = 1
            yield

    block.run(body)
    while block.ctx.state == context.WAITING:
        block.run()
    assert block.ctx.status == 0
