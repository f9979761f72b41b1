"""A program run once for each combination of the outcomes of its launches, wherever its memory is then."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dsl import emulator
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.exploration import Exploration, NeverEnds
from dsl.launch.devices.protocol import Device, Launch

PTX = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b64 %a, %b; .reg .b32 %n, %r<4>; .reg .pred %p;
ld.param.u64 %a, [p]; mov.u32 %n, %ctaid.x; mul.wide.u32 %b, %n, 4; add.u64 %b, %a, %b;
BODY
ret;
}
"""
COUNT = "atom.global.add.u32 %r1, [%a], 1; st.global.u32 [%b+4], %r1;"  # two outcomes: 0, 1 and 1, 0
WAIT = "setp.eq.u32 %p, %n, 0; @%p bra E; L: ld.relaxed.gpu.global.u32 %r1, [%a]; setp.eq.u32 %p, %r1, 0; @%p bra L; E:"


def launch(exploration, body, data):
    memory = emulator.Memory()
    memory.register(data.ctypes.data, data.nbytes, "a")
    program = emulator.load(PTX.replace("BODY", body))
    exploration.launch(program, "k", Launch((2, 1, 1), (1, 1, 1)), [struct.pack("<Q", data.ctypes.data)], memory)


def every(bodies, bound=16):
    """The memory after each run of launches of these kernels on new memory."""
    exploration, found, kept = Exploration(bound), [], []
    while True:
        data = np.zeros(4, np.uint32)
        kept.append(data)  # so each run has other addresses
        for body in bodies:
            launch(exploration, body, data)
        found.append(tuple(int(each) for each in data))
        if not exploration.again():
            return exploration, found


def test_one_run_for_each_outcome_of_a_launch():
    exploration, found = every([COUNT])
    assert sorted(found) == [(2, 0, 1, 0), (2, 1, 0, 0)] and exploration.is_complete


def test_one_run_for_each_combination_of_two_launches():
    exploration, found = every([COUNT, COUNT])
    assert sorted(found) == [(4, 2, 3, 0), (4, 2, 3, 0), (4, 3, 2, 0), (4, 3, 2, 0)]
    assert [one["after"] for one in exploration.launches()] == [[], [0], [1]]


def test_a_launch_is_described():
    (one,) = every([COUNT])[0].launches()
    assert (one["entry"], one["after"], len(one["outcomes"])) == ("k", [], 2)
    assert {tuple(map(tuple, each["final"])) for each in one["outcomes"]} == {
        (("a[0]", 2), ("a[2]", 1)), (("a[0]", 2), ("a[1]", 1))
    }  # fmt: skip
    assert all(each["interleaving"] and not each["stuck"] for each in one["outcomes"])


def test_an_outcome_that_does_not_end():
    exploration = Exploration(16)
    with pytest.raises(NeverEnds, match="`k` never ends in this outcome"):
        launch(exploration, WAIT, np.zeros(4, np.uint32))
    assert exploration.choice == [0] and not exploration.again()
    ((waiting,),) = [each["stuck"] for each in exploration.launches()[0]["outcomes"]]
    assert (waiting["block"], waiting["thread"]) == (1, 0)


def test_a_bound_makes_it_incomplete():
    loop = "mov.u32 %r1, 0; L: st.global.u32 [%a], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 9; @%p bra L;"
    exploration = Exploration(3)
    with pytest.raises(ValueError, match="no execution of `k` ends within 3 executions of an instruction"):
        launch(exploration, loop, np.zeros(4, np.uint32))
    assert not exploration.is_complete


def test_memory_that_no_argument_points_into_is_not_moved():
    data = np.zeros(4, np.uint32)
    exploration = Exploration(16)
    launch(exploration, "st.global.u32 [%b+4], 7;", data)
    assert [*data] == [0, 7, 7, 0]


def test_a_gpu_cannot_explore():
    with pytest.raises(ValueError, match="a GPU shows one outcome a run"):
        Device().explore(16)


def test_the_emulator_explores():
    assert isinstance(Emulated().explore(16), Exploration)
