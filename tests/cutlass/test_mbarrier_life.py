"""Common mistakes in the life of an mbarrier, as CuTe DSL programs: each is found at the author's line, without checks or
with those it needs; the right program is silent."""

import warnings

import numpy as np
import pytest

from dsl.cutlass import Constexpr, Int32, Int64, const_expr, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.emulator import Fault
from dsl.launch import session

# a mistake, the checks it needs, the first words of its report, the line that it is at
MISTAKES = {
    "": ("none", "", ""),
    "no init": ("none", "MBARRIER_NOT_INITIALIZED", "arch.mbarrier_arrive(bars)  # use"),
    "another stage": ("none", "MBARRIER_NOT_INITIALIZED", "arch.mbarrier_arrive(bars + 1)"),
    "every thread": ("none", "MBARRIER_IN_USE", "arch.mbarrier_init(bars, 64)  # all"),
    "twice": ("none", "MBARRIER_IN_USE", "arch.mbarrier_init(bars, 64)  # again"),
    "no arrivals": ("none", "ILLEGAL", "arch.mbarrier_init(bars, count)"),
    "no barrier": ("race", "MBARRIER_NOT_VISIBLE", "arch.mbarrier_arrive(bars)  # use"),
    "data over it": ("race", "MBARRIER_IN_USE", "words[t] = t"),
}


@cute.kernel
def phase(out: cute.Tensor, mistake: Constexpr, count: Int32):
    t, _, _ = arch.thread_idx()
    storage = memory.SmemAllocator()
    bars = storage.allocate_array(Int64, 2)
    words = storage.allocate_tensor(Int32, cute.make_layout(64))
    if const_expr(mistake == "data over it"):
        words = cute.make_tensor(cute.recast_ptr(bars, dtype=Int32), cute.make_layout(64))
    if const_expr(mistake == "every thread"):
        arch.mbarrier_init(bars, 64)  # all
    elif const_expr(mistake != "no init"):
        if t == 0:
            arch.mbarrier_init(bars, count)
            arch.mbarrier_init_fence()
    if const_expr(mistake != "no barrier"):
        arch.sync_threads()
    if const_expr(mistake == "twice"):
        if t == 0:
            arch.mbarrier_init(bars, 64)  # again
    words[t] = t
    if const_expr(mistake == "another stage"):
        arch.mbarrier_arrive(bars + 1)
    else:
        arch.mbarrier_arrive(bars)  # use
    arch.mbarrier_wait(bars, 0)
    out[t] = words[63 - t]


@cute.jit
def host(out: cute.Tensor, mistake: Constexpr, count: Int32):
    phase(out, mistake, count).launch(grid=(1, 1, 1), block=(64, 1, 1))


@pytest.fixture
def emulator(request, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_CHECK", request.param)
    yield session.start("emulator")
    session.stop()


@pytest.mark.parametrize(
    "emulator, mistake", [(MISTAKES[name][0], name) for name in MISTAKES] + [("race", "")], indirect=["emulator"]
)
def test_mistakes(emulator, mistake):
    _, name, line = MISTAKES[mistake]
    out = np.zeros(64, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not name:
            host(from_dlpack(out), mistake, 64)
            return np.testing.assert_array_equal(out, np.arange(63, -1, -1))
        with pytest.raises(Fault) as caught:
            host(from_dlpack(out), mistake, 0 if mistake == "no arrivals" else 64)
    text = str(caught.value)
    assert f": {name}\n" in text and line in text.split("\n")[1] and "\nfix: " in text, text
