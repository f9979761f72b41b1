"""Counters that all GPUs see: what threads count, and the instructions, whose order and scope were read off the PTX of
NVIDIA's compiler (release 4.8.1)."""

import re

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Int32, cute, memory
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.cutlass.utils import distributed


@cute.kernel
def counts(given: cute.Tensor, out: cute.Tensor, order: Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    seen = memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(4))
    if thread < 4:
        seen[thread] = 0
    cute.arch.sync_threads()
    distributed.atomicAdd(seen.iterator + given[thread], Int32(2))
    distributed.red_add1(out.iterator + 4, order=order, scope="gpu")
    cute.arch.sync_threads()
    if thread < 4:
        out[thread] = seen[thread]


@cute.jit
def host(given: cute.Tensor, out: cute.Tensor, order: Constexpr):
    counts(given, out, order).launch(grid=(1, 1, 1), block=(64, 1, 1))


def test_threads_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, out = np.arange(64, dtype=np.int32) ** 2 % 3, np.zeros(5, np.int32)
    host(from_dlpack(given), from_dlpack(out), "relaxed")
    assert out.tolist() == [*(2 * np.bincount(given, minlength=4)), 64]
    numbers = from_dlpack(out)
    text = cute.compile(host, numbers, numbers, "release", options="--keep-ptx --gpu-arch sm_90a").__ptx__
    assert re.findall(r"\b((?:atom|red)\.\S+)", text) == [
        "atom.relaxed.sys.shared.add.u32",
        "red.release.gpu.global.add.s32",
    ]


def test_an_order_that_no_reduction_has_is_named():
    numbers = from_dlpack(np.zeros(64, np.int32))
    with pytest.raises(DSLUserCodeError, match="mem_order of a reduction must be relaxed or release, got acquire"):
        host(numbers, numbers, "acquire")
