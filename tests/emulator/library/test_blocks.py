"""Which blocks a worker takes, and clusters of them."""

import ctypes

import numpy as np
import pytest

from dsl.emulator.check.numbers import Cell
from dsl.emulator.families.tcgen05.numbers import TensorState, tensor_memory
from dsl.emulator.machine import context
from tests.emulator.library.own_block import CALLED, ORDERED, Block, Grid, bytes_at, cluster

SHARED = context.SHARED


def taken(grid: Grid, block: Block | None = None, shape=None) -> list[tuple[int, tuple[int, ...]]]:
    """The blocks that a worker runs, with their index."""
    block, log = block or Block(grid=grid), []
    block.ctx.grid[:] = shape or (grid.fields.blocks, 1, 1)
    grid.run(block, lambda ctx: log.append((ctx.block, tuple(ctx.block_index))))
    return log


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_every_block_runs_once_in_order_with_its_index(chunk):
    shape = (3, 4, 2)
    expected = [(x + 3 * (y + 4 * z), (x, y, z)) for z in range(2) for y in range(4) for x in range(3)]
    grid = Grid(24, chunk)
    block = Block(grid=grid)
    assert taken(grid, block, shape) == expected and block.ctx.block == 23


def test_workers_share_the_blocks_by_chunks():
    grid = Grid(blocks=10, chunk=3)
    first, second = Block(grid=grid), Block(grid=grid)
    first.ctx.grid[0] = second.ctx.grid[0] = 10
    log = []

    def run(ctx):
        log.append(("first", ctx.block))
        if ctx.block == 0:
            grid.run(second, lambda other: log.append(("second", other.block)))

    grid.run(first, run)
    assert log == [("first", 0), *(("second", n) for n in range(3, 10)), ("first", 1), ("first", 2)]


@pytest.mark.parametrize("blocks, step, start", [(10, 3, 4), (7, 5, 0), (16, 15, 3)])
def test_a_seed_takes_each_block_once_in_another_order(blocks, step, start):
    grid = Grid(blocks, chunk=4)
    grid.fields.block_step, grid.fields.block_start = step, start
    order = [block for block, _ in taken(grid)]
    assert order == [(start + n * step) % blocks for n in range(blocks)] and sorted(order) == list(range(blocks))


def test_memory_of_a_block_begins_as_bytes_of_all_ones():
    grid = Grid(blocks=2)
    block = Block(threads=3, smem_bytes=64, grid=grid)
    block.ctx.local, block.ctx.local_bytes = block.zeros(3 * 40), 40
    block.ctx.grid[0] = 2
    found = []

    def run(ctx):
        found.append((bytes_at(ctx.smem, 64), bytes_at(ctx.local, 120)))
        ctypes.memset(ctx.smem, 0, 64)
        ctypes.memset(ctx.local, 0, 120)

    grid.run(block, run)
    assert found == [(b"\xff" * 64, b"\xff" * 120)] * 2


@pytest.mark.parametrize("is_checked", [False, True])
def test_tensor_memory_of_a_block_begins_so_too_and_a_block_may_allocate_it(is_checked):
    """Checkers know of no access to it, nor to the matrices in shared memory."""
    grid = Grid(blocks=2)
    block = Block(smem_bytes=64, grid=grid)
    block.ctx.grid[0] = 2
    block.ctx.tensor = block.zeros(ctypes.sizeof(TensorState))
    state = TensorState.from_address(block.ctx.tensor)
    nbytes = 4 * tensor_memory.LANES * tensor_memory.COLUMNS
    state.tensor_cells = block.zeros(nbytes)
    kept = {}
    if is_checked:
        cells = tensor_memory.LANES // tensor_memory.GROUP * tensor_memory.COLUMNS
        kept = {"tensor_accesses": ctypes.sizeof(Cell) * cells, "tensor_last": 4 * cells, "matrix_last": 4 * 64 // 16}
        for name, size in kept.items():
            setattr(state, name, block.zeros(size))
    found = []

    def run(ctx):
        last = [
            bytes_at(getattr(state, name) + size - 4, 4) for name, size in kept.items() if name != "tensor_accesses"
        ]
        counts = {Cell.from_address(state.tensor_accesses).count} if is_checked else set()
        blank = bytes_at(state.tensor_cells, nbytes) == b"\xff" * nbytes
        found.append((blank, state.relinquish_site, counts, {*last}))
        ctypes.memset(state.tensor_cells, 0, nbytes)
        for name, size in kept.items():
            ctypes.memset(getattr(state, name), 1, size)
        state.relinquish_site = 5

    grid.run(block, run)
    assert found == [(True, 0, {0} if is_checked else set(), {bytes(4)} if is_checked else set())] * 2


def test_after_a_fault_no_higher_block_begins_and_lower_ones_do():
    grid = Grid(blocks=6)
    grid.fields.block_step, grid.fields.block_start = 5, 3  # 3, 2, 1, 0, 5, 4
    block, ran = Block(grid=grid), []
    block.ctx.grid[0] = 6
    lower = Block(grid=grid)
    lower.ctx.grid[0] = 6

    def run(ctx):
        ran.append(ctx.block)
        ctx.status = context.TRAP if ctx.block == 3 else 0

    grid.run(block, run)
    assert grid.fields.first_fault == 3 and block.ctx.state == context.DEAD and ran == [3]
    grid.run(lower, run)
    assert ran == [3, 2, 1, 0] and lower.ctx.state == context.IDLE
    assert lower.ctx.block == 0  # a report may want to know of it


def test_after_a_fault_in_a_cluster_no_higher_one_begins_and_lower_ones_do():
    grid, ran = Grid(blocks=6), []
    grid.fields.block_step, grid.fields.block_start = 5, 3  # clusters 3, 2, 1, 0, 5, 4
    workers = [cluster(2, grid=grid)[0] for _ in range(2)]

    def run(ctx):
        ran.append(ctx.block)
        ctx.status = context.TRAP if ctx.block == 7 else 0

    grid.run(workers[0], run, clusters=True)
    assert grid.fields.first_fault == 7 and workers[0].ctx.state == context.DEAD and ran == [7]
    grid.run(workers[1], run, clusters=True)
    assert ran == [7, 5, 4, 3, 2, 1, 0] and workers[1].ctx.state == context.IDLE


def test_a_block_that_begins_while_a_lower_one_ends_badly_does_not_run():
    for clusters in (False, True):
        grid, ran = Grid(blocks=2), []
        slots = cluster(2, grid=grid) if clusters else [Block(grid=grid)]

        def begins(address):
            grid.fields.first_fault = 0

        callback = CALLED(begins)
        for slot in slots:
            slot.ctx.begin_checks = ctypes.cast(callback, ctypes.c_void_p).value
        grid.run(slots[0], lambda ctx: ran.append(ctx.block), clusters=clusters)
        assert ran == [] and [slot.ctx.state for slot in slots] == [context.IDLE] * len(slots)


def test_a_fault_stops_higher_blocks_that_run_and_no_lower_one():
    grid = Grid(blocks=3)
    slots = [Block(grid=grid) for _ in range(3)]
    for slot, number in zip(slots, (0, 1, 2)):
        slot.ctx.block, slot.ctx.state, slot.ctx.grid[0] = number, context.RUNNING, 3
    slots[1].ctx.state = context.WAITING  # it goes on at once

    def run(ctx):
        ctx.state, ctx.status = context.RUNNING, context.TRAP

    grid.run(slots[1], run)
    assert [slot.ctx.stop for slot in slots] == [0, 0, 1] and grid.fields.first_fault == 1


def test_who_was_interrupted_is_not_at_fault():
    grid = Grid(blocks=3)
    block = Block(grid=grid)

    def run(ctx):
        ctx.status = context.INTERRUPTED

    grid.run(block, run)
    assert grid.fields.first_fault == context.NO_FAULT and block.ctx.state == context.DEAD


def test_a_halt_ends_it():
    grid, ran = Grid(blocks=5), []

    def run(ctx):
        ran.append(ctx.block)
        grid.fields.halt = ctx.block == 2

    grid.run(Block(grid=grid), run)
    assert ran == [0, 1, 2]


@pytest.mark.parametrize("chunk", [1, 2])
def test_a_block_that_polls_lets_another_one_begin(chunk):
    """The first block waits for the second, which gets another slot: both end."""
    grid, log = Grid(2, chunk), []
    first = Block(grid=grid)
    first.ctx.grid[0] = 2
    others = []

    def more():
        if others:
            return None
        others.append(Block(grid=grid))
        others[0].ctx.grid[0] = 2
        return others[0]

    grid.more(more)

    def run(ctx):
        log.append(ctx.block)
        waits = ctx.block == 0 and 1 not in log
        ctx.state = context.WAITING if waits else context.RUNNING

    grid.run(first, run)
    assert log == [0, 1, 0] and first.ctx.state == others[0].ctx.state == context.IDLE


def test_a_block_that_polls_goes_on_where_no_slot_can_be_had():
    grid, log = Grid(blocks=2), []
    first = Block(grid=grid)
    first.ctx.grid[0] = 2

    def run(ctx):
        log.append(ctx.block)
        ctx.state = context.WAITING if log.count(0) < 3 else context.RUNNING

    grid.run(first, run)
    assert log == [0, 0, 0, 1]


@pytest.mark.parametrize("field, value", [("first_fault", 0), ("halt", 1)])
def test_blocks_that_wait_for_others_give_up_after_a_fault_or_a_halt(field, value):
    grid = Grid(blocks=1)
    block, ran = Block(grid=grid), []

    def run(ctx):
        ran.append(ctx.block)
        setattr(grid.fields, field, value)
        ctx.state = context.WAITING if len(ran) < 9 else context.RUNNING

    grid.run(block, run)
    assert ran == [0] and block.ctx.state == context.DEAD


@pytest.mark.parametrize("shape, grid_shape", [((2, 1, 1), (6, 2, 1)), ((2, 2, 1), (6, 4, 2)), ((1, 1, 3), (2, 1, 3))])
def test_a_cluster_has_the_blocks_of_its_place_in_the_grid(shape, grid_shape):
    count = int(np.prod(shape))
    grid = Grid(blocks=int(np.prod(grid_shape)) // count)
    blocks, log = cluster(count, grid=grid), []
    for block in blocks:
        block.ctx.cluster[:], block.ctx.grid[:] = shape, grid_shape

    def run(ctx):
        log.append((ctx.cluster_rank, tuple(ctx.block_index), ctx.block))

    grid.run(blocks[0], run, clusters=True)
    everything = {(x, y, z) for x in range(grid_shape[0]) for y in range(grid_shape[1]) for z in range(grid_shape[2])}
    assert {index for _, index, _ in log} == everything and len(log) == len(everything)
    for rank, (x, y, z), number in log:
        inner = x % shape[0], y % shape[1], z % shape[2]
        assert rank == inner[0] + shape[0] * (inner[1] + shape[1] * inner[2])
        assert number == x + grid_shape[0] * (y + grid_shape[1] * z)
    for n in range(grid.fields.blocks):  # a cluster is complete before the next one begins
        cells = {tuple(a // b for a, b in zip(index, shape)) for _, index, _ in log[n * count : n * count + count]}
        assert len(cells) == 1


def test_all_blocks_of_a_cluster_count_as_running_once_it_begins():
    """So blocks elsewhere that poll do not wait for ever: one of these may still write for them."""
    grid, states = Grid(blocks=2), []
    blocks = cluster(2, grid=grid)
    grid.run(blocks[0], lambda ctx: states.append([block.ctx.state for block in blocks]), clusters=True)
    running = context.RUNNING
    assert states == [[running, running], [running, context.GONE]] * 2


def test_a_cluster_of_which_all_blocks_poll_lets_another_one_begin():
    """The first cluster waits for the second."""
    grid, log, made = Grid(blocks=2), [], []

    def more():
        if made:
            return None
        made.extend(cluster(2, grid=grid))
        return made[0]

    grid.more(more)

    def run(ctx):
        log.append(ctx.block)
        waits = ctx.block < 2 and 3 not in log
        ctx.idle = ctx.idle + 10 if waits else 0
        ctx.state = context.WAITING if waits else context.RUNNING

    grid.run(cluster(2, grid=grid)[0], run, clusters=True)
    assert {*log[: log.index(2)]} <= {0, 1, 3} and {2, 3} <= {*log} and log[-1] in (0, 1)


def test_shared_memory_of_a_block_that_has_ended_is_nobodys():
    grid, seen = Grid(blocks=1), []
    blocks = cluster(2, grid=grid)

    def run(ctx):
        seen.append((ctx.cluster_rank, [blocks[0].range(each.ctx.smem, 4, 4, SHARED, 0, 0) for each in blocks]))
        waits = ctx.cluster_rank == 0 and len(seen) < 3
        ctx.state = context.WAITING if waits else context.RUNNING
        blocks[0].ctx.status = 0

    grid.run(blocks[0], run, clusters=True)
    after = [fine for rank, fine in seen if rank == 0]
    assert seen[0][1] == [True, True] and after[-1] == [True, False]


def waits_turns(count: int):
    """A `run` whose blocks poll in `count` turns and then end; and the turns that each has had."""
    turns = {}

    def run(ctx):
        turns[ctx.block] = turns.get(ctx.block, 0) + 1
        waits = turns[ctx.block] <= count
        ctx.idle, ctx.state = 10 * waits, context.WAITING if waits else context.RUNNING

    return run, turns


@pytest.mark.parametrize("clusters", [False, True])
def test_a_checker_hears_once_that_a_block_has_ended(clusters):
    grid, heard = Grid(blocks=2), []
    slots = cluster(2, grid=grid) if clusters else [Block(grid=grid)]
    callback = ORDERED(lambda address, *rest: heard.append(rest) or 0)
    for slot in slots:
        slot.ctx.order_call = ctypes.cast(callback, ctypes.c_void_p).value
    run, turns = waits_turns(3)
    grid.run(slots[0], run, clusters)
    blocks = 2 * len(slots)
    assert turns == dict.fromkeys(range(blocks), 4) and heard == [(context.ORDER_EXIT, 0, 0, 0)] * blocks


def test_a_cluster_goes_on_where_no_other_can_begin():
    grid = Grid(blocks=2)
    grid.fields.more = 0
    run, turns = waits_turns(2000)
    grid.run(cluster(2, grid=grid)[0], run, clusters=True)
    assert turns == dict.fromkeys(range(4), 2001)


def test_a_cluster_that_works_does_not_let_another_one_begin():
    """A block that polled for fewer rounds than it may under a seed has done something else before."""
    grid, asked = Grid(blocks=2), []
    grid.more(lambda: asked.append(1))
    run, _ = waits_turns(2000)

    def works(ctx):
        run(ctx)
        ctx.idle = min(ctx.idle, 8)

    grid.run(cluster(2, grid=grid)[0], works, clusters=True)
    assert asked == []


def test_a_cluster_that_waits_for_others_gives_up_after_a_fault():
    grid = Grid(blocks=1)
    blocks = cluster(2, grid=grid)
    run, turns = waits_turns(10**9)

    def faults_elsewhere(ctx):
        run(ctx)
        if turns.get(0) == 3:
            grid.fields.first_fault = 0

    grid.run(blocks[0], faults_elsewhere, clusters=True)
    assert [block.ctx.state for block in blocks] == [context.DEAD] * 2


@pytest.mark.parametrize("status, first_fault", [(context.TRAP, 1), (context.INTERRUPTED, context.NO_FAULT)])
def test_a_fault_of_a_block_ends_its_cluster(status, first_fault):
    grid, ran = Grid(blocks=3), []
    blocks = cluster(2, grid=grid)

    def run(ctx):
        ran.append(ctx.block)
        ctx.status = status

    grid.run(blocks[0], run, clusters=True)
    assert ran == [1] and [block.ctx.state for block in blocks] == [context.DEAD] * 2
    assert grid.fields.first_fault == first_fault


def test_a_seed_chooses_which_block_of_a_cluster_runs():
    def order(seed):
        grid, log = Grid(blocks=1), []
        blocks = cluster(4, grid=grid)
        blocks[0].ctx.order = seed
        run, _ = waits_turns(20)

        def logs(ctx):
            log.append(ctx.block)
            run(ctx)

        grid.run(blocks[0], logs, clusters=True)
        return log

    assert order(0) == [1, 2, 3, 0] * 21
    orders = [order(seed) for seed in (1, 2)]
    assert orders == [order(1), order(2)] and orders[0] != orders[1]
    assert all(sorted(each) == sorted([0, 1, 2, 3] * 21) != each for each in orders)
