"""Which loop is a grid, which runs on one thread, and which is unrolled."""

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.quadrants.errors.errors import QuadrantsSyntaxError

pytestmark = pytest.mark.usefixtures("running")


def blocks(running) -> list[int]:
    """Threads a block of every launch so far."""
    return [launch["block"][0] for record in running.kernels for launch in record.launches]


@qd.kernel
def nested(n: int, out: qd.types.ndarray()):
    for i in range(n):
        for j in qd.static(range(2)):
            out[i] += i * j
        for _ in range(i):
            out[i] += 1


def test_the_outermost_loop_is_a_grid_and_the_inner_one_a_loop(running):
    out = np.zeros(4, np.int32)
    nested(4, out)
    assert out.tolist() == [0, 2, 4, 6] and blocks(running) == [128]


@qd.kernel
def serial(n: int) -> int:
    total = 0
    qd.loop_config(serialize=True)
    for i in range(n):
        if i == 3:
            break
        total += i
    return total


def test_a_serial_loop_is_left_by_break(running):
    assert serial(10) == 3 and blocks(running) == [1]


@qd.kernel
def left(n: int, out: qd.types.ndarray()):
    for i in range(n):
        if out[i] == 0:
            break


def test_a_grid_is_not_left():
    with pytest.raises(QuadrantsSyntaxError, match="Cannot break in the outermost loop: its iterations are threads"):
        left(4, np.zeros(4, np.int32))


@qd.kernel
def counted_on_the_device(counts: qd.template(), out: qd.types.ndarray()):
    for i in range(counts[None]):
        out[i] = i + 1


def test_a_count_that_only_the_device_knows_strides(running):
    counts, out = qd.field(qd.i32, shape=()), np.zeros(6, np.int32)
    counts[None] = 5
    counted_on_the_device(counts, out)
    assert out.tolist() == [1, 2, 3, 4, 5, 0]
