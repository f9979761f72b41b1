"""Special registers that describe where a thread runs: lane masks by their definition, times that do not go back."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.gpu.threads import registers
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    session.start("emulator")
    yield
    session.stop()


@cute.kernel
def masks(out: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    for k, name in enumerate(("eq", "lt", "le", "gt", "ge")):
        out[k, i] = cutlass.Int32(getattr(registers, f"lanemask_{name}")())
    out[5, i] = cutlass.Int32(registers.warpsize())
    out[6, i] = cutlass.Int32(registers.activemask())


@cute.jit
def host(out: cute.Tensor):
    masks(out).launch(grid=1, block=64)


def test_lane_masks():
    out = np.zeros((7, 64), np.int32)
    host(from_dlpack(out))
    for thread in range(64):
        lane = thread % 32
        below = (1 << lane) - 1
        wanted = [
            1 << lane,
            below,
            below | 1 << lane,
            0xFFFFFFFF & ~(below | 1 << lane),
            0xFFFFFFFF & ~below,
            32,
            0xFFFFFFFF,
        ]
        assert out.view(np.uint32)[:, thread].tolist() == wanted


@cute.kernel
def times(out: cute.Tensor):
    out[0] = cutlass.Int64(registers.clock64())
    out[1] = cutlass.Int64(registers.clock64())
    out[2] = cutlass.Int64(registers.globaltimer())
    out[3] = cutlass.Int64(registers.globaltimer())


@cute.jit
def host_of_times(out: cute.Tensor):
    times(out).launch(grid=1, block=1)


def test_times_do_not_go_back():
    out = np.zeros(4, np.int64)
    host_of_times(from_dlpack(out))
    assert out[1] >= out[0] and out[3] >= out[2] > 0
