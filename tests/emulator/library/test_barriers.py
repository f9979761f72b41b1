"""Barriers of a block and of a cluster. PTX ISA 9.7.13.1, 9.7.13.3."""

import ctypes

import pytest

from dsl.emulator.machine import context, native
from tests.emulator.library.own_block import ORDERED, Block, Grid, cluster


def test_nobody_passes_a_barrier_before_all_have_come():
    log = []

    def body(thread):
        for generation in range(3):
            log.append((generation, thread.tid))
            yield from thread.sync()

    block = Block(threads=70).run(body)
    assert block.ctx.status == 0 and len(log) == 210
    assert [{tid for each, tid in log[70 * n : 70 * n + 70] if each == n} for n in range(3)] == [set(range(70))] * 3


def test_threads_that_have_exited_are_not_waited_for():
    passed = []

    def body(thread):
        if thread.tid % 3:
            return
        yield from thread.sync()
        passed.append(thread.tid)

    assert Block(threads=96).run(body).ctx.status == 0
    assert passed == list(range(0, 96, 3))


def test_a_thread_that_exits_later_lets_the_others_pass():
    log = []

    def body(thread):
        if thread.tid == 40:
            yield from thread.sync(barrier=1, count=64)
            log.append("exits")
            return
        if thread.tid >= 32:
            yield from thread.sync(barrier=1, count=64)
        else:
            thread.arrive(barrier=1, count=64)
        yield from thread.sync()
        log.append(thread.tid)

    assert Block(threads=64).run(body).ctx.status == 0
    assert log == ["exits", *(tid for tid in range(64) if tid != 40)]


def test_who_only_arrives_does_not_wait():
    log = []

    def body(thread):
        if thread.tid < 32:
            thread.arrive(barrier=3, count=64)
            log.append("producer")
            return
        yield from thread.sync(barrier=3, count=64)
        log.append("consumer")

    assert Block(threads=64).run(body).ctx.status == 0
    assert log == ["producer"] * 32 + ["consumer"] * 32


@pytest.mark.parametrize("first", ["sync", "arrive"])
def test_a_producer_and_a_consumer_take_turns_at_two_barriers(first):
    """The example of the ISA: one half waits at 0 and arrives at 1, the other the other way round."""
    log = []

    def body(thread):
        mine = thread.tid < 32
        for _ in range(4):
            if mine == (first == "sync"):
                thread.arrive(0, 64)
                yield from thread.sync(1, 64)
            else:
                yield from thread.sync(0, 64)
                log.append(thread.tid // 32)
                thread.arrive(1, 64)

    assert Block(threads=64).run(body).ctx.status == 0
    assert len(log) == 128


def test_barriers_are_apart():
    """Half of the block meets at 1, the other half at 15; neither waits for the other."""
    log = []

    def body(thread):
        number = 1 if thread.tid < 64 else 15
        yield from thread.sync(number, 64)
        log.append(thread.tid)
        if thread.tid < 64:
            yield from thread.sync(number, 64)

    assert Block(threads=128).run(body).ctx.status == 0
    assert sorted(log) == list(range(128))


def test_a_warp_counts_when_all_its_threads_have_come():
    """The last thread of a warp counts as its 32, because the others have exited."""
    log = []

    def body(thread):
        if thread.tid < 32 and thread.tid != 5:
            log.append("exits")
            return
        yield from thread.sync(2, 64)
        log.append("passes")

    assert Block(threads=64).run(body).ctx.status == 0
    assert log == ["exits"] * 31 + ["passes"] * 33


def test_a_warp_of_which_all_have_exited_does_not_count():
    def body(thread):
        if thread.tid >= 32:
            yield from thread.sync(2, 64)

    block = Block(threads=64).run(body)
    assert block.ctx.status == context.DEADLOCK and list(block.ctx.in_barrier[:2]) == [0, 2**32 - 1]


def test_a_warp_of_which_a_thread_is_elsewhere_does_not_count():
    def body(thread):
        yield from thread.sync(1 if thread.tid == 63 else 2, 64)

    block = Block(threads=64).run(body)
    assert block.ctx.status == context.DEADLOCK
    assert list(block.ctx.in_barrier[:2]) == [2**32 - 1, 2**32 - 1]
    assert (block.ctx.b[63], block.ctx.b[62]) == (1, 2)


def test_threads_that_arrive_twice_count_twice():
    """A count of 64 is reached by one warp that arrives once and then waits: each arrival of a thread counts."""

    def body(thread):
        thread.arrive(4, 64)
        yield from thread.sync(4, 64)

    assert Block(threads=32).run(body).ctx.status == 0


def test_of_more_warps_than_the_count_the_first_pass_and_the_others_wait_for_more():
    log = []

    def body(thread):
        yield from thread.sync(1, 64)
        log.append(thread.tid)

    block = Block(threads=96).run(body)
    assert log == list(range(64))
    assert block.ctx.status == context.DEADLOCK and list(block.ctx.in_barrier[:3]) == [0, 0, 2**32 - 1]
    log.clear()
    assert Block(threads=128).run(body).ctx.status == 0 and log == list(range(128))


def test_a_thread_whose_warp_has_not_come_stays_where_other_warps_make_up_the_count():
    log = []

    def body(thread):
        yield from thread.sync(2 if 0 < thread.tid < 32 else 1, 64)
        log.append(thread.tid)

    block = Block(threads=96).run(body)
    assert log == list(range(32, 96)) and block.ctx.status == context.DEADLOCK
    assert (block.ctx.b[0], block.ctx.b[1], block.ctx.in_barrier[0]) == (1, 2, 2**32 - 1)


@pytest.mark.parametrize("true", [0, 1, 37, 63, 64])
def test_a_reduction_tells_each_thread_how_many_were_true_and_whether_all_were(true):
    told = []

    def body(thread):
        yield from thread.sync(vote=int(thread.tid < true))
        told.append(thread.out)
        yield from thread.sync(vote=1)
        told.append(thread.out)

    assert Block(threads=64).run(body).ctx.status == 0
    assert told == [(true, true == 64)] * 64 + [(64, True)] * 64


def test_only_threads_that_wait_vote():
    told = []

    def body(thread):
        if thread.tid < 32:
            thread.arrive(6, 64)
        else:
            yield from thread.sync(6, 64, vote=1)
            told.append(thread.out)

    Block(threads=64).run(body)
    assert told == [(32, True)] * 32


@pytest.mark.parametrize(
    "number, count, fault",
    [
        (16, 0, (context.BAD_BARRIER, 16)),
        (2**32 - 1, 64, (context.BAD_BARRIER, 2**32 - 1)),
        (15, 33, (context.COUNT_NOT_WARPS, 33)),
        (0, 16, (context.COUNT_NOT_WARPS, 16)),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_numbers_that_no_barrier_has(number, count, fault, waits):
    block = Block(threads=64)
    if waits:
        assert block.wait_barrier(35, number, count, 2, 9) == 0
    else:
        assert block.arrive(35, number, count, 9) == 0
    assert block.record == (context.ILLEGAL, 9, 35, fault[1], 0, fault[0])


def test_threads_at_one_barrier_give_one_count():
    block = Block(threads=96)
    assert block.arrive(0, 1, 64, 3) == 1
    assert block.wait_barrier(32, 1, 96, 2, 4) == 0
    assert block.record == (context.ILLEGAL, 4, 32, 96, 0, context.BARRIER_COUNTS)
    assert block.ctx.in_barrier[1] == 0


def test_threads_that_wait_for_the_next_generation_keep_its_count():
    """The third of three warps has come to the second generation of a barrier that counts two."""

    def body(thread):
        yield from thread.sync(1, 64, site=3)
        yield from thread.sync(1, 96, site=4)

    block = Block(threads=96).run(body)
    assert block.record == (context.ILLEGAL, 4, 0, 96, 0, context.BARRIER_COUNTS)


def test_the_next_generation_may_have_another_count():
    def body(thread):
        yield from thread.sync(1, 64)
        yield from thread.sync(1, 0)
        yield from thread.sync(1, 32)

    assert Block(threads=64).run(body).ctx.status == 0


def test_a_warp_that_has_no_part_in_a_barrier_keeps_no_count_of_it():
    def body(thread):
        if thread.tid < 64:
            yield from thread.sync(1, 64)
            yield from thread.sync(1, 32)

    assert Block(threads=96).run(body).ctx.status == 0


def test_a_checker_hears_of_arrivals_that_wait_for_nothing():
    block, heard = Block(threads=64), []
    callback = ORDERED(lambda address, *rest: heard.append((address == block.address, *rest)) or 0)
    block.ctx.order_call = ctypes.cast(callback, ctypes.c_void_p).value
    block.arrive(33, 5, 64, 12)
    block.wait_barrier(1, 5, 64, 2, 13)
    assert heard == [(True, context.ORDER_ARRIVE, 33, 5, 12)]


def test_a_checker_hears_of_a_barrier_before_its_threads_go_on():
    log = []
    block = Block(threads=32)
    heard = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)(
        lambda address, number: log.append((address == block.address, number))
    )
    block.ctx.order_barrier = ctypes.cast(heard, ctypes.c_void_p).value

    def body(thread):
        yield from thread.sync(9)
        log.append(thread.tid)

    block.run(body)
    assert log == [(True, 9), *range(32)]


def run_cluster(blocks, body, grid) -> None:
    of = {block.address: block for block in blocks}
    grid.run(blocks[0], lambda ctx: of[ctypes.addressof(ctx)].run(body), clusters=True)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_nobody_passes_the_barrier_of_a_cluster_before_all_blocks_have_come(count):
    grid, log = Grid(blocks=1), []
    blocks = cluster(count, threads=40, grid=grid)

    def body(thread):
        for generation in range(3):
            log.append((generation, thread.block.ctx.cluster_rank, thread.tid))
            yield from thread.cluster_sync()

    run_cluster(blocks, body, grid)
    each = 40 * count
    assert len(log) == 3 * each
    assert [{row[0] for row in log[n * each : n * each + each]} for n in range(3)] == [{0}, {1}, {2}]
    assert all(block.ctx.status == 0 and block.ctx.state == context.IDLE for block in blocks)


@pytest.mark.parametrize("leaves", [0, 1])
def test_threads_may_work_between_arriving_and_waiting_and_exited_blocks_are_not_waited_for(leaves):
    grid, log = Grid(blocks=1), []
    blocks = cluster(2, grid=grid)

    def body(thread):
        if thread.block is blocks[leaves]:
            return
        thread.block.arrive_cluster(thread.tid, 0)
        log.append("works")
        yield from thread.cluster_wait()
        log.append("passes")

    run_cluster(blocks, body, grid)
    assert log == ["works"] * 32 + ["passes"] * 32


def test_who_waits_when_all_have_come_passes_at_once():
    grid, came, answers = Grid(), [], []
    blocks = cluster(2, threads=40, grid=grid)

    def body(thread):
        for generation in (1, 2):
            thread.block.arrive_cluster(thread.tid, 0)
            came.append(thread.tid)
            while len(came) < 80 * generation:
                yield
            for _ in range(300):  # until each block has looked
                yield
            answers.append(thread.block.wait_cluster(thread.tid, 0))

    for block in blocks:
        block.ctx.patience = 2
    run_cluster(blocks, body, grid)
    assert answers == [1] * 160


def test_who_arrives_twice_or_waits_without_arriving_is_at_fault():
    block = Block()
    assert block.wait_cluster(3, 5) == 0
    assert block.record == (context.ILLEGAL, 5, 3, 0, 0, context.NOT_ARRIVED)
    block = Block()
    assert block.arrive_cluster(3, 5) == 1 and block.arrive_cluster(4, 5) == 1
    assert block.arrive_cluster(3, 6) == 0
    assert block.record == (context.ILLEGAL, 6, 3, 0, 0, context.ARRIVED_TWICE)


@pytest.mark.parametrize("leaves", [0, 1])
def test_a_block_that_waits_for_ever_is_found_where_the_others_have_ended(leaves):
    grid = Grid(blocks=1)
    blocks = cluster(2, grid=grid)

    def body(thread):
        if thread.block is not blocks[leaves]:
            yield from thread.sync(1, 64)

    run_cluster(blocks, body, grid)
    assert blocks[1 - leaves].ctx.status == context.DEADLOCK


def test_blocks_that_wait_for_each_other_elsewhere_wait_for_ever():
    grid = Grid(blocks=1)
    blocks = cluster(2, grid=grid)

    def body(thread):
        if thread.block is blocks[0]:
            yield from thread.cluster_sync()
        else:
            yield from thread.sync(1, 64)

    run_cluster(blocks, body, grid)
    assert context.DEADLOCK in [block.ctx.status for block in blocks]
    assert [block.ctx.state for block in blocks] == [context.DEAD] * 2


def asked(threads: int, body, before: int = 0) -> tuple[list[int], bool]:
    """The questions to a checker when barriers complete, and whether the last one began an epoch of the whole block.
    Each thread runs `body`; `before`: the barriers where some met alone before, as bits."""
    block, what = Block(threads=threads), []
    callback = ORDERED(lambda _, kind, *rest: what.append(kind) or 0)
    block.ctx.order_call = ctypes.cast(callback, ctypes.c_void_p).value
    block.ctx.order_barrier, block.ctx.partial_barriers, block.ctx.now = native.address("emu_order_barrier"), before, 40
    block.run(body)
    assert (block.ctx.epoch, block.ctx.now) in ((0, 40), (41, 41))
    return [kind for kind in what if kind != context.ORDER_ARRIVE], block.ctx.epoch == 41


MEETING, BARRIER, GENERATION = context.ORDER_BLOCK_MEETING, context.ORDER_BARRIER, context.ORDER_GENERATION


@pytest.mark.parametrize("count", [0, 96])
def test_a_barrier_at_which_all_threads_wait_begins_an_epoch(count):
    def body(thread):
        yield from thread.sync(1, count, site=5)

    assert asked(96, body) == ([], True)
    assert asked(96, body, before=0b101) == ([], True)
    assert asked(96, body, before=0b10) == ([GENERATION], True)


def test_a_barrier_of_some_threads_orders_those_alone():
    def body(thread):
        if thread.tid < 32:
            yield from thread.sync(1, 32, site=5)
        else:
            yield

    assert asked(64, body) == ([BARRIER], False)


def test_lanes_at_different_instructions_are_asked_for():
    def body(thread):
        yield from thread.sync(1, 0, site=5 + (thread.tid == 40))

    def of_each_warp(thread):
        yield from thread.sync(1, 0, site=5 + thread.tid // 32)

    assert asked(64, body) == ([MEETING], True)
    assert asked(64, of_each_warp) == ([], True)


@pytest.mark.parametrize(
    "count, leave, expected",
    [
        (0, {40}, ([MEETING], True)),
        (64, {40}, ([MEETING], True)),
        (0, {*range(32)}, ([MEETING], True)),
        (32, {*range(32)}, ([MEETING, BARRIER], False)),  # the warp that has left cannot be the one it counts
    ],
)
def test_who_has_left_is_asked_for(count, leave, expected):
    def body(thread):
        if thread.tid not in leave:
            yield from thread.sync(1, count, site=5)

    assert asked(64, body) == expected


@pytest.mark.parametrize("count", [0, 64])
def test_an_arrival_of_a_thread_that_has_left_may_belong_to_another_generation(count):
    def body(thread):
        if thread.tid == 40:
            thread.arrive(1, count, site=5)
        else:
            yield from thread.sync(1, count, site=5)

    assert asked(64, body) == ([MEETING, GENERATION], True)


def test_more_arrivals_than_a_barrier_counts_may_belong_to_another_generation():
    def body(thread):
        if thread.tid < 32:
            thread.arrive(1, 64, site=5)
        yield from thread.sync(1, 64, site=5)

    assert asked(64, body) == ([GENERATION], True)


def test_a_fault_of_a_checker_that_hears_of_a_barrier_ends_the_block():
    """The other barrier, which is complete too, is not looked at."""
    log, heard, block = [], [], Block(threads=64)

    def body(thread):
        yield from thread.sync(thread.tid // 32, 32)
        log.append(thread.tid)

    def hears(address, number):
        heard.append(number)
        block.ctx.status = context.RACE

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)(hears)
    block.ctx.order_barrier = ctypes.cast(callback, ctypes.c_void_p).value
    assert block.run(body).ctx.status == context.RACE and (log, heard) == ([], [0])
