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
    places = np.stack(np.unravel_index(np.arange(block.ctx.threads), shape[::-1])[::-1], axis=1)
    chosen = random.Random(3)

    def threads_in(box):
        return np.all((box[:3] <= places) & (places < box[3:]), axis=1)

    def box():
        return np.array([sorted(chosen.sample(range(n + 1), 2)) for n in shape], np.uint64).T.reshape(-1)

    answers = set()
    for round_ in range(60):
        there = box()
        stays = threads_in(box()) if round_ % 3 else np.array([chosen.random() < 0.7 for _ in places])
        active, leave, found = np.ones(len(places), np.uint8), (~stays).astype(np.uint8), there.copy()
        answer = block.leave(active.ctypes.data, leave.ctypes.data, found.ctypes.data)
        left = places[threads_in(there) & stays]
        np.testing.assert_array_equal(active, threads_in(there) & stays)
        if len(left):
            around = np.concatenate([left.min(axis=0), left.max(axis=0) + 1])
            is_box = np.prod(around[3:] - around[:3]) == len(left)
            assert (answer, list(found)) == ((1, list(around)) if is_box else (2, list(there)))
        else:
            assert answer == 0
        answers.add(answer)
    assert answers == {0, 1, 2}


def test_threads_outside_of_a_box_are_taken_out():
    block = Block(threads=24)
    block.ctx.block_dim[:] = 4, 3, 2
    active = np.ones((2, 3, 4), np.uint8)
    active[0, 1, 2] = 0
    box = np.array([1, 0, 0, 4, 2, 1], np.uint64)
    block.trim(active.ctypes.data, box.ctypes.data)
    wanted = np.zeros((2, 3, 4), np.uint8)
    wanted[0:1, 0:2, 1:4] = 1
    wanted[0, 1, 2] = 0
    np.testing.assert_array_equal(active, wanted)
