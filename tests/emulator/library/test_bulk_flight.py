"""Checks of memory that bulk copies read and write, and of tensor maps. PTX ISA 8.6."""

import ctypes

import pytest

from dsl.emulator.check.numbers import Cell, access, orders, other_kind
from dsl.emulator.machine import context
from tests.emulator.library.own_block import ORDERED, Block, Grid, cluster

MINE, OTHER = 3, 4  # the blocks' numbers


class Kept:
    """A block of 64 threads that is checked for races. `answers`: of the checker by question, or by question and what it
    is about; others are 0."""

    def __init__(self, block: Block | None = None):
        self.block = block or Block(threads=64, smem_bytes=256)
        self.answers, self.asked = {}, []
        callback = ORDERED(self._answer)
        ctx = self.block.ctx
        ctx.block, ctx.race_shift, ctx.order_kinds, ctx.epoch = MINE, 2, orders.ANY, 1
        ctx.site_lines = self.block.zeros(4 * 64)
        ctx.order_call, self._callback = ctypes.cast(callback, ctypes.c_void_p).value, callback
        ctx.smem_cells = self.block.zeros(64 * ctypes.sizeof(Cell))
        ctx.labels, ctx.proxied = self.block.zeros(4 * 64), self.block.zeros(4 * 64)
        ctx.known = self.block.zeros(4 * 64 * 65)
        ctx.near_lo = self.block.zeros(256)  # memory of the grid
        ctx.near_bytes, ctx.near_cells = 256, self.block.zeros(64 * ctypes.sizeof(Cell))

    def _answer(self, _, what, *rest):
        self.asked.append((what, *rest))
        return self.answers.get((what, rest[1]), self.answers.get(what, 0))

    def keep(self, cells: int, index: int, block=MINE, kind=access.WRITE, label=9, lanes=0b110) -> None:
        """That lanes of warp 1 made an access by instruction 5."""
        cell = Cell.from_address(cells + index * ctypes.sizeof(Cell))
        cell.count = 1
        cell.first[0].place_kind_site = 1 | block << 5 | kind << 36 | 5 << 41
        cell.first[0].label, cell.first[0].lanes = label, lanes

    @property
    def finding(self):
        ctx = self.block.ctx
        return (*self.block.record, ctx.other_thread, ctx.other_site, ctx.other_kind)


def found(address: int, nbytes: int, mark: int, thread: int = 33):
    return (context.RACE, 7, 2, address, nbytes, access.ASYNC, thread, 5, access.WRITE | mark)


@pytest.mark.parametrize(
    "kept, proxied, generic, thread",
    [
        ({}, {}, 1, 33),
        ({}, {33: 9}, 1, 34),
        ({}, {33: 9, 34: 9}, 1, None),
        ({}, {33: 8, 34: 10}, 1, 33),
        ({}, {}, 0, None),  # no generic store, or a thread that saw it has fenced since
        (dict(block=OTHER), {}, 1, None),
        (dict(kind=0), {}, 1, None),
    ],
)
def test_a_copy_needs_a_fence_of_the_threads_that_wrote_its_source(kept, proxied, generic, thread):
    of = Kept()
    of.keep(of.block.ctx.smem_cells, 5, **kept)
    fences = (ctypes.c_uint32 * 64).from_address(of.block.ctx.proxied)
    for tid, label in proxied.items():
        fences[tid] = label
    of.answers[context.ORDER_GENERIC] = generic
    address = of.block.ctx.smem + 16
    assert of.block.bulk_proxied(2, 7, address, 16) == (thread is None)
    if thread is not None:
        assert of.finding == found(address, 16, other_kind.UNPROXIED, thread)
    assert of.block.bulk_proxied(2, 7, of.block.ctx.smem + 32, 16) == 1


def test_nothing_is_kept_of_memory_that_nobody_allocated():
    """The copy itself finds that it is not there."""
    of = Kept()
    of.block.ctx.near_cells = 0
    assert of.block.bulk_proxied(2, 7, of.block.ctx.near_lo, 16) == 1
    assert of.block.map_asked(2, 7, of.block.ctx.near_lo, context.ORDER_MAP_USED) == 1


@pytest.mark.parametrize("what", [context.ORDER_MAP_USED, context.ORDER_MAP_CHANGED])
@pytest.mark.parametrize("stored", [0, 1])
def test_a_copy_uses_a_map_that_was_fenced_since_it_was_stored(what, stored):
    of = Kept()
    at = of.block.ctx.near_lo
    of.keep(of.block.ctx.near_cells, 3)
    of.answers[context.ORDER_MAP_STORED] = stored
    fault = stored and what == context.ORDER_MAP_USED
    assert of.block.map_asked(2, 7, at, what) == (not fault)
    assert of.asked[0] == (what, 2, at, 7)
    if fault:
        assert of.finding == found(at, 128, other_kind.OF_MAP)
        assert of.asked[1:] == [(context.ORDER_MAP_STORED, 2, MINE << 5 | 1, 9 << 32 | 0b110)]


def test_a_map_in_shared_memory_is_another_mistake():
    of = Kept()
    of.keep(of.block.ctx.smem_cells, 3)
    of.answers[context.ORDER_MAP_STORED] = 1
    assert of.block.map_asked(2, 7, of.block.ctx.smem, context.ORDER_MAP_USED) == 1


def test_a_map_that_was_changed_and_not_fenced_is_not_used():
    of = Kept()
    of.answers[context.ORDER_MAP_USED] = 1
    at = of.block.ctx.near_lo
    assert of.block.map_asked(2, 7, at, context.ORDER_MAP_USED) == 0
    assert of.block.record == (context.RACE, 7, 2, at, 128, access.ASYNC)


WRITES = access.WRITE | access.ASYNC


def begins(of: Kept, smem: int, barrier: int, mask: int) -> int:
    return of.block.bulk_begins(2, 7, smem, 16, WRITES, barrier, mask, 0)


@pytest.mark.parametrize("mask, targets", [(0, [2]), (context.MULTICAST | 0b101, [0, 2])])
def test_a_copy_begins_in_each_block_of_its_mask(mask, targets):
    blocks = cluster(3, threads=64, grid=Grid(blocks=1))
    of = [Kept(block) for block in blocks][1]
    for answer in (0, 1):
        of.answers[context.ORDER_COPY] = answer
        of.asked.clear()
        assert begins(of, 32 | 3 << context.RANK_SHIFT, 8 | 3 << context.RANK_SHIFT, mask) == 1 - answer
        copies = [row[1:] for row in of.asked if row[0] == context.ORDER_COPY]
        every = [(2, blocks[rank].ctx.smem + 32, blocks[rank].ctx.smem + 8) for rank in targets]
        assert copies == (every[:1] if answer else every)
        for block in blocks:
            ctypes.memset(block.ctx.smem_cells, 0, 64 * ctypes.sizeof(Cell))


def test_a_copy_to_an_address_without_a_rank_is_to_the_own_block():
    of = Kept(cluster(3, threads=64, grid=Grid(blocks=1))[1])
    assert begins(of, 32, 8, 0) == 1
    assert (context.ORDER_COPY, 2, of.block.ctx.smem + 32, of.block.ctx.smem + 8) in of.asked


def test_a_copy_does_not_begin_where_others_have_not_been_waited_for():
    of = Kept()
    of.keep(of.block.ctx.smem_cells, 8)
    assert begins(of, 32, 8, 0) == 0
    assert of.block.record == (context.RACE, 7, 2, of.block.ctx.smem + 32, 16, WRITES)
    assert context.ORDER_COPY not in [row[0] for row in of.asked]


@pytest.mark.parametrize(
    "rank, writer, is_bulk, is_found",
    [
        (1, MINE, True, True),
        (1, MINE, False, False),  # st.async is of the generic proxy as the stores are
        (1, OTHER + 1, True, False),  # a block that had this memory before
        (0, MINE, True, False),  # a thread of that block may have fenced: the fences of a block are kept there
    ],
)
def test_a_copy_over_generic_stores_needs_their_fence(rank, writer, is_bulk, is_found):
    blocks = cluster(2, threads=64)
    of = [Kept(block) for block in blocks][1]
    blocks[0].ctx.block = OTHER
    of.keep(blocks[rank].ctx.smem_cells, 8, block=writer)
    known = (ctypes.c_uint32 * 64).from_address(of.block.ctx.known + 4 * 2 * 2 * 64)  # thread 2 has seen the stores
    known[33] = known[34] = 9
    of.answers = {context.ORDER_GENERIC: 1, (context.ORDER_GENERIC, 7): not is_bulk}
    assert begins(of, 32 | rank + 1 << context.RANK_SHIFT, 8 | rank + 1 << context.RANK_SHIFT, 0) == (not is_found)
    if is_found:
        expected = found(of.block.ctx.smem + 32, 16, other_kind.UNPROXIED)
        assert of.finding == (*expected[:5], WRITES, *expected[6:])
