"""Counters that all GPUs see: what threads count, and the instructions, whose order and scope were read off the PTX of
NVIDIA's compiler (release 4.8.1).

Modules tested here: dsl/gpu/threads/spin_lock.py.
"""

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


@cute.kernel
def waits(flags: cute.Tensor, out: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    if block == 1:
        if thread == 0:
            distributed.spin_lock_atom_cas_acquire_wait(flags.iterator, expected_val=Int32(1), reset_val=5, scope="gpu")
            out[0] = out[1] + 1
            distributed.spin_lock_ld_lt_relaxed_wait(flags.iterator + 1, expected_val=3, scope="sys")
            distributed.spin_lock_atom_cas_relaxed_wait(flags.iterator + 2, expected_val=2, reset_val=0, scope="sys")
            out[2] = 7
    elif thread < 3:
        if thread == 0:
            out[1] = 41
            distributed.red_add1(flags.iterator, order="release", scope="gpu")
        distributed.red_add1(flags.iterator + 1, order="relaxed", scope="sys")
        if thread < 2:
            distributed.red_add1(flags.iterator + 2, order="relaxed", scope="sys")


@cute.jit
def waiting(flags: cute.Tensor, out: cute.Tensor):
    waits(flags, out).launch(grid=(2, 1, 1), block=(32, 1, 1))


def test_a_block_waits_for_what_another_counts(tmp_path, monkeypatch):
    """The instructions are the same as from NVIDIA's compiler: `.acquire` and `.sys` only if the call names them."""
    monkeypatch.chdir(tmp_path)
    flags, out = np.zeros(3, np.int32), np.zeros(3, np.int32)
    waiting(from_dlpack(flags), from_dlpack(out))
    assert (flags.tolist(), out.tolist()) == ([5, 3, 0], [42, 41, 7])
    numbers = from_dlpack(out)
    text = cute.compile(waiting, numbers, numbers, options="--keep-ptx --gpu-arch sm_90a").__ptx__
    assert re.findall(r"\b((?:atom|ld\.relaxed)\.\S+)", text) == [
        "atom.acquire.gpu.global.cas.b32",
        "ld.relaxed.sys.global.b32",
        "atom.relaxed.sys.global.cas.b32",
    ]


def test_a_wrong_scope_and_operations_of_several_gpus_are_refused():
    @cute.kernel
    def narrow(flags: cute.Tensor):
        distributed.spin_lock_ld_lt_relaxed_wait(flags.iterator, expected_val=1, scope="cta")

    @cute.jit
    def launch(flags: cute.Tensor):
        narrow(flags).launch(grid=(1, 1, 1), block=(1, 1, 1))

    with pytest.raises(DSLUserCodeError, match="scope of a spin lock must be gpu or sys, got 'cta'"):
        launch(from_dlpack(np.zeros(1, np.int32)))
    with pytest.raises(DSLUserCodeError, match="multimem_red_add1 is not part of this compiler") as caught:
        distributed.multimem_red_add1(None, order="release", scope="gpu")
    assert "on one GPU write red_add1" in str(caught.value)


def test_an_order_that_no_reduction_has_is_named():
    numbers = from_dlpack(np.zeros(64, np.int32))
    with pytest.raises(DSLUserCodeError, match="mem_order of a reduction must be relaxed or release, got acquire"):
        host(numbers, numbers, "acquire")
