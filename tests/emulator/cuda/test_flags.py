"""Flags, locks and counters of CUDA C++: no finding where they are right, though loads may read old values."""

import numpy as np
import pytest

from dsl import emulator


def run(machine, ptx: str, name: str, grid: int, block: int, seed: int) -> np.ndarray:
    out, x = np.zeros(1024, np.int32), np.zeros(1024, np.int32)
    machine.run(ptx, grid=grid, block=block, entry=name, seed=seed, checks=("race", "undefined"), out=out, x=x)
    return out


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("name, grid, block, expected", [
    ("ring", 2, 32, 3 * np.arange(16)),
    ("counted", 3, 32, np.repeat([1, 2, 0], 32)),
    ("ticket", 3, 64, [6]),
    ("look_back", 4, 32, [1, 3, 6, 10]),
    ("warps", 1, 64, np.arange(6)[:, None] * np.arange(31, -1, -1)),
    ("sequence", 3, 32, [0, 4, 4]),
])  # fmt: skip
def test_right_ones_are_silent(machine, ptx, name, grid, block, expected, seed):
    expected = np.ravel(expected)
    assert np.array_equal(run(machine, ptx, name, grid, block, seed)[: expected.size], expected)


@pytest.mark.parametrize("name, grid, text", [
    ("ring", 3, "which a thread of another block read"),
    ("miscounted", 4, "may give 2, and the thread goes on"),
])  # fmt: skip
def test_wrong_ones_are_found(machine, ptx, name, grid, text):
    with pytest.raises(emulator.Fault, match=text) as caught:
        run(machine, ptx, name, grid, 32, 0)
    assert caught.value.kind == "race"
