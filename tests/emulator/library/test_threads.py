"""Threads that begin and leave."""

import ctypes
import itertools
import random

import numpy as np
import pytest

from dsl.emulator.machine import context
from tests.emulator.library.own_block import Block


@pytest.mark.parametrize("threads, size", [(1, 1), (33, 64), (128, 200), (7, 4096)])
def test_frames_of_threads_are_apart_and_aligned(threads, size):
    block = Block(threads=threads)
    at = [block.frame(tid, size) for tid in range(threads)]
    assert all(each % 64 == 0 for each in at)
    assert all(b - a >= size for a, b in itertools.pairwise(at))
    assert at == [block.frame(tid, size) for tid in range(threads)]
    for address in at:
        ctypes.memset(address, 1, size)
    assert block.ctx.frame_bytes >= at[-1] + size - at[0]


def test_frames_grow_and_never_shrink():
    block = Block(threads=4)
    block.frame(0, 100)
    few = block.ctx.frame_bytes
    block.frame(0, 1000)
    many = block.ctx.frame_bytes
    assert many > few
    block.frame(0, 10)
    assert block.ctx.frame_bytes == many


def test_nothing_of_an_earlier_block_is_left_when_threads_begin():
    def waits(thread):
        thread.block.arrive_cluster(thread.tid, 0)
        yield from thread.sync(thread.tid % 3, vote=1)

    log = []

    def body(thread):
        thread.block.arrive_cluster(thread.tid, 0)
        yield from thread.sync(1, 64, vote=0)
        log.append(thread.out)

    block = Block(threads=64).run(waits)
    assert block.ctx.status == context.DEADLOCK
    block.ctx.status = block.ctx.state = 0
    block.run(body)
    assert block.ctx.status == 0 and log == [(0, False)] * 64


@pytest.mark.parametrize("shape", [(8, 1, 1), (4, 3, 1), (3, 2, 4)])
def test_who_is_left_of_a_block_is_a_box_or_not(shape):
    block = Block(threads=int(np.prod(shape)))
    block.ctx.block_dim[:] = shape
    places = [(x, y, z) for z in range(shape[2]) for y in range(shape[1]) for x in range(shape[0])]
    made = random.Random(3)
    cases = [tuple(made.randrange(n + 1) for n in shape) for _ in range(20)]
    for box in cases:
        stays = [all(a < b for a, b in zip(place, box)) for place in places]
        active, leave = np.ones(len(places), np.uint8), np.array([not each for each in stays], np.uint8)
        ends = np.zeros(3, np.uint64)
        at = ends.ctypes.data
        got = block.leave(active.ctypes.data, leave.ctypes.data, at, at + 8, at + 16)
        assert list(active) == stays
        assert (got, tuple(ends)) == ((1, box) if any(stays) else (0, (0, 0, 0)))
    active, leave = np.ones(len(places), np.uint8), np.zeros(len(places), np.uint8)
    leave[0] = 1
    assert block.leave(active.ctypes.data, leave.ctypes.data, at, at + 8, at + 16) == (2 if len(places) > 1 else 0)
