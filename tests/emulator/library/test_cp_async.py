"""cp.async: when copies land. PTX ISA 9.7.9.25.3."""

import ctypes

import numpy as np
import pytest

from dsl.emulator.families.cp_async.numbers import CopyQueue
from dsl.emulator.families.mbarrier.emit import State
from dsl.emulator.machine import context
from tests.emulator.library.own_block import LANDED, ORDERED, Block, Grid


class Copies:
    """A block with 16 threads whose copies go from `source` to `target`, by elements of 4 bytes."""

    def __init__(self):
        self.block = Block(threads=16)
        self.source = np.arange(1000, 1256, dtype=np.uint32)
        self.target = np.full(256, 7, dtype=np.uint32)

    def copy(self, to: int, start: int, count: int = 1, source_count: int | None = None, tid: int = 0) -> None:
        source_bytes = 4 * (count if source_count is None else source_count)
        at = self.target.ctypes.data + 4 * to, self.source.ctypes.data + 4 * start
        self.block.queue_copy(tid, *at, 4 * count, source_bytes)

    def mbarrier(self, pending: int, count: int) -> np.ndarray:
        """The 64 bits of one."""
        return np.array([pending | count << 20], np.uint64)

    def landed(self) -> dict[int, int]:
        return {i: int(each) for i, each in enumerate(self.target) if each != 7}


def test_bytes_land_when_their_group_is_waited_for_and_not_before():
    copies = Copies()
    copies.copy(to=0, start=10, count=2)
    assert copies.landed() == {}
    copies.block.queue_commit(0)
    assert copies.landed() == {}
    copies.block.queue_wait(0, 0)
    assert copies.landed() == {0: 1010, 1: 1011}


@pytest.mark.parametrize("keep, groups", [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0), (9, 0), (2**32 - 1, 0)])
def test_a_wait_leaves_the_last_groups_on_their_way(keep, groups):
    copies = Copies()
    for group in range(4):
        copies.copy(to=2 * group, start=group)
        copies.copy(to=2 * group + 1, start=100 + group)
        copies.block.queue_commit(0)
    copies.block.queue_wait(0, keep)
    assert copies.landed() == {i: 1000 + 100 * (i % 2) + i // 2 for i in range(2 * groups)}
    copies.block.queue_wait(0, 0)
    assert len(copies.landed()) == 8


def test_a_copy_that_is_in_no_group_yet_is_not_waited_for():
    copies = Copies()
    copies.copy(to=0, start=0)
    copies.block.queue_commit(0)
    copies.copy(to=1, start=1)
    copies.block.queue_wait(0, 0)
    assert copies.landed() == {0: 1000}
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 0)
    assert copies.landed() == {0: 1000, 1: 1001}


def test_empty_groups_count():
    copies = Copies()
    copies.copy(to=0, start=0)
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 1)
    assert copies.landed() == {}
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 1)
    assert copies.landed() == {0: 1000}


@pytest.mark.parametrize("given", [0, 1, 3])
def test_bytes_that_the_source_lacks_become_zero(given):
    copies = Copies()
    copies.copy(to=3, start=20, count=4, source_count=given)
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 0)
    assert list(copies.target[2:8]) == [7, *[1020, 1021, 1022, 1023][:given], *[0] * (4 - given), 7]


def test_a_source_of_no_bytes_is_not_touched():
    copies = Copies()
    copies.block.queue_copy(0, copies.target.ctypes.data, 0, 16, 0)
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 0)
    assert list(copies.target[:5]) == [0, 0, 0, 0, 7]


def test_each_thread_has_its_own_groups():
    copies = Copies()
    for tid in range(16):
        copies.copy(to=tid, start=tid, tid=tid)
        copies.block.queue_commit(tid)
    for tid in (3, 15):
        copies.block.queue_wait(tid, 0)
    assert copies.landed() == {3: 1003, 15: 1015}


def test_a_queue_has_room_for_as_many_copies_as_there_are():
    copies = Copies()
    for group in range(40):
        for i in range(5):
            copies.copy(to=5 * group + i, start=5 * group + i)
        copies.block.queue_commit(0)
    copies.block.queue_wait(0, 3)
    assert copies.landed() == {i: 1000 + i for i in range(5 * 37)}
    for i in range(200, 250):
        copies.copy(to=i, start=i)
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 0)
    assert copies.landed() == {i: 1000 + i for i in range(250)}


def test_a_checker_hears_of_each_copy_that_lands():
    copies, heard = Copies(), []
    callback = LANDED(lambda _, tid, address, nbytes: heard.append((tid, address - copies.target.ctypes.data, nbytes)))
    copies.block.ctx.landed = ctypes.cast(callback, ctypes.c_void_p).value
    copies.copy(to=1, start=0, count=2, tid=5)
    copies.copy(to=4, start=0, count=4, source_count=0, tid=5)
    copies.block.queue_commit(5)
    copies.block.queue_wait(5, 1)
    assert heard == []
    copies.block.queue_wait(5, 0)
    assert heard == [(5, 4, 8), (5, 16, 16)]


@pytest.mark.parametrize("counts, count", [(0, 1), (1, 0)])
def test_copies_land_and_arrive_when_somebody_looks_at_an_mbarrier(counts, count):
    """Without .noinc (`counts`) the phase waits for one arrival more."""
    copies, word = Copies(), Copies().mbarrier(1 + count, 1 + count)
    copies.copy(to=0, start=10, tid=3)
    copies.block.queue_arrive(3, 0, word.ctypes.data, counts)
    copies.copy(to=1, start=11, tid=3)
    assert copies.landed() == {} and State.of(int(word[0])).pending == 2
    copies.block.queue_look(0)
    assert copies.landed() == {0: 1010} and State.of(int(word[0])).pending == 1
    copies.block.queue_arrive(3, 0, word.ctypes.data, 0)
    copies.block.queue_look(0)
    assert copies.landed() == {0: 1010, 1: 1011}
    assert State.of(int(word[0])) == State(1, 1 + count, 1 + count, 0)


def test_copies_land_for_the_mbarrier_that_is_looked_at_alone():
    copies, words = Copies(), np.array([2 | 2 << 20, 2 | 2 << 20], np.uint64)
    for i, tid in ((0, 3), (1, 3), (0, 4), (1, 5)):
        copies.copy(to=tid + 10 * i, start=tid, tid=tid)
        copies.block.queue_arrive(tid, 0, words[i:].ctypes.data, 0)
    copies.block.queue_look(words.ctypes.data)
    assert copies.landed() == {3: 1003, 4: 1004}
    copies.block.queue_look(words[1:].ctypes.data)
    assert copies.landed() == {3: 1003, 4: 1004, 13: 1003, 15: 1005}
    assert [State.of(int(word)).pending for word in words] == [2, 2]  # of the next phase


def test_a_wait_for_the_copies_of_a_group_lets_them_arrive():
    copies, word = Copies(), Copies().mbarrier(2, 2)
    copies.copy(to=0, start=10)
    copies.block.queue_commit(0)
    copies.block.queue_arrive(0, 0, word.ctypes.data, 0)
    copies.copy(to=1, start=11)
    copies.block.queue_commit(0)
    copies.block.queue_wait(0, 1)
    assert copies.landed() == {0: 1010} and State.of(int(word[0])).pending == 1


def test_a_checker_hears_of_copies_that_arrived_once_their_thread_waits_too():
    copies, heard, word = Copies(), [], Copies().mbarrier(2, 2)
    callback = LANDED(lambda _, tid, address, nbytes: heard.append((tid, address - copies.target.ctypes.data, nbytes)))
    told = ORDERED(lambda *_: 0)
    copies.block.ctx.landed = ctypes.cast(callback, ctypes.c_void_p).value
    copies.block.ctx.order_call = ctypes.cast(told, ctypes.c_void_p).value
    copies.copy(to=1, start=0, tid=5)
    copies.block.queue_commit(5)
    copies.block.queue_arrive(5, 0, word.ctypes.data, 0)
    copies.block.queue_look(0)
    assert heard == [(5, 4, 4 | context.SIGNALS)]
    copies.block.queue_wait(5, 0)
    assert heard == [(5, 4, 4 | context.SIGNALS), (5, 4, 4)]
    copies.block.queue_wait(5, 0)
    assert len(heard) == 2


def test_a_checker_hears_once_of_copies_that_their_thread_waited_for_before_the_phase():
    copies, heard, word = Copies(), [], Copies().mbarrier(4, 4)
    callback = LANDED(lambda _, tid, address, nbytes: heard.append((address - copies.target.ctypes.data, nbytes)))
    told = ORDERED(lambda *_: 0)
    copies.block.ctx.landed = ctypes.cast(callback, ctypes.c_void_p).value
    copies.block.ctx.order_call = ctypes.cast(told, ctypes.c_void_p).value
    for i in range(3):  # entries 1 and 2, 3 and 4, 5
        copies.copy(to=i, start=i)
        copies.block.queue_commit(0)
        if i < 2:
            copies.block.queue_arrive(0, 0, word.ctypes.data, 0)
    copies.block.queue_wait(0, 1)
    assert heard == [(0, 4), (4, 4)]
    copies.block.queue_seen(0, 2, 9)  # somebody has waited for the first arrival
    copies.block.queue_wait(0, 1)
    assert heard == [(0, 4), (4, 4)]
    copies.block.queue_wait(0, 0)
    assert heard == [(0, 4), (4, 4), (8, 4)]


@pytest.mark.parametrize("ends_by", ["wait", "look"])
def test_copies_that_have_landed_take_no_room(ends_by):
    """Else a loop of a kernel would take more and more memory."""
    copies, word = Copies(), Copies().mbarrier(1, 1)
    for _ in range(1000):
        copies.copy(to=0, start=0)
        copies.block.queue_commit(0)
        if ends_by == "look":
            copies.block.queue_arrive(0, 0, word.ctypes.data, 0)
            copies.block.queue_look(0)
        else:
            copies.block.queue_wait(0, 0)
    queue = CopyQueue.from_address(copies.block.ctx.queues)
    assert queue.count == 0 and queue.room < 50


def test_copies_that_nobody_waited_for_are_forgotten_when_a_block_begins():
    grid, copies = Grid(blocks=2), Copies()
    block = copies.block
    block.ctx.shared_grid = ctypes.addressof(grid.fields)

    def run(ctx):
        if ctx.block == 0:
            copies.copy(to=0, start=0)
            block.queue_commit(0)
            copies.copy(to=1, start=1)
        else:
            copies.copy(to=2, start=2)
            block.queue_commit(0)
            block.queue_wait(0, 0)

    grid.run(block, run)
    assert copies.landed() == {2: 1002}
