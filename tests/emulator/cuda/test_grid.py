"""Programs whose blocks wait for one another, in CUDA C++: what they compute, and whether a race is found in the one
that lacks something.

Modules tested here: dsl/emulator/dependence/grid_groups.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

BLOCKS = 4
# The initial values of each array of int32; the expected first elements of the last array; threads of a block.
PAIRS = {
    "rounds": ([[0] * BLOCKS] * 2, [6, 3, 4, 5], 64),
    "last_block": ([[1, 2, 3, 4], [0] * BLOCKS, [0], [0]], [10], 64),
    "reset": ([[0], [0]], [3], 1),
    "lock": ([[0], [0]], [6], 1),
    "volatile_flag": ([[0], [0], [0]], [7], 1),
    "atomic_ref": ([[0] * BLOCKS, [0], [0]], [6], 1),
    "flags": ([[0], [0], [0]], None, 1),
    "ticket_lock": ([[0], [0], [0]], [6], 1),
}
COOPERATIVE = {"rounds", "split", "early", "own_trap"}


def launch(program, entry: str, arrays: list, threads: int, *, cooperative: bool, checks=("race", "undefined"), seed=0):
    """The arrays after a launch of `entry`."""
    given = [np.array(each, np.int32) for each in arrays]
    memory = emulator.Memory()
    for i, array in enumerate(given):
        memory.register(array.ctypes.data, array.nbytes, f"array {i}")
    params = [array.ctypes.data.to_bytes(8, "little") for array in given]
    blocks = 2 if entry.startswith("flags") else BLOCKS
    emulator.launch(program, entry, (blocks, 1, 1), (threads, 1, 1), params, memory, checks=checks, seed=seed,
                    cooperative=cooperative)  # fmt: skip
    return given


@pytest.mark.filterwarnings("ignore::dsl.emulator.SameValueRace")
@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_right_and_the_wrong_one_a_race(program, name):
    arrays, expected, threads = PAIRS[name]
    for seed in (0, 1, 2):
        for checks in ((), ("race", "undefined")):
            *_, out = launch(program, f"{name}_right", arrays, threads, cooperative=name in COOPERATIVE, seed=seed,
                             checks=checks)  # fmt: skip
            assert expected is None or out.tolist() == expected
    with pytest.raises(emulator.Fault) as caught:
        launch(program, f"{name}_wrong", arrays, threads, cooperative=name in COOPERATIVE)
    assert caught.value.kind == "race"


def test_arrival_and_wait_of_the_grid(program):
    data, out = launch(program, "split", [[0] * BLOCKS] * 2, 64, cooperative=True)
    assert out.tolist() == data.tolist()[::-1] == [3, 2, 1, 0]


def test_a_launch_that_is_not_cooperative_is_the_reason_of_the_trap(program):
    with pytest.raises(emulator.Fault) as caught:
        launch(program, "rounds_right", [[0] * BLOCKS] * 2, 64, cooperative=False)
    assert caught.value.kind == "trap"
    text = str(caught.value)
    assert "a group of the whole grid waits, which needs a cooperative launch, and this one is not" in text
    assert "fix: launch it with cuLaunchCooperativeKernel, cudaLaunchCooperativeKernel" in text


def test_other_traps_of_such_kernels_have_another_reason(program):
    for cooperative in (True, False):
        with pytest.raises(emulator.Fault) as caught:
            launch(program, "own_trap", [[0], [0]], 1, cooperative=cooperative)
        assert "the kernel executed a trap" in str(caught.value)


def test_a_block_that_leaves_before_the_sync_is_waited_for(program):
    with pytest.raises(emulator.Fault) as caught:
        launch(program, "early", [[0] * BLOCKS] * 2, 1, cooperative=True, checks=())
    assert caught.value.kind == "deadlock"
    text = str(caught.value)
    assert "3 of 4 blocks have come to the barrier of the grid" in text
    assert "fix: let all threads of every block come to each sync of the grid" in text
