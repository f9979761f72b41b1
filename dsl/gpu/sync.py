"""Barriers and fences.  PTX ISA: Parallel Synchronization and Communication Instructions."""

from __future__ import annotations

from dsl.core.dtypes import Boolean, Int32
from dsl.core.errors import DSLUserCodeError
from dsl.gpu.inline import intrinsic, ptx


def sync_threads() -> None:
    """Wait for all threads of the block.  PTX ISA: bar.sync 0."""
    intrinsic("nvvm.barrier.cta.sync.aligned.all", None, Int32(0))


def barrier(barrier_id=None, number_of_threads=None) -> None:
    """Wait at barrier `barrier_id` (0 to 15) for `number_of_threads`, a multiple of 32.  PTX ISA: barrier.sync."""
    if number_of_threads is None:
        intrinsic("nvvm.barrier.cta.sync.aligned.all", None, Int32(0 if barrier_id is None else barrier_id))
    else:
        _check_count(number_of_threads)
        intrinsic("nvvm.barrier.cta.sync.aligned.count", None, Int32(0 if barrier_id is None else barrier_id), Int32(number_of_threads))


def barrier_arrive(barrier_id=None, number_of_threads=None) -> None:
    """Arrive at a barrier without waiting.  PTX ISA: barrier.arrive. Raises where no count is given: PTX needs one."""
    if number_of_threads is None:
        raise DSLUserCodeError("barrier_arrive needs the number of threads that take part",
                               fix="barrier_arrive(barrier_id=1, number_of_threads=64)")
    _check_count(number_of_threads)
    intrinsic("nvvm.barrier.cta.arrive.aligned.count", None, Int32(0 if barrier_id is None else barrier_id), Int32(number_of_threads))


def _check_count(number_of_threads) -> None:
    if isinstance(number_of_threads, int) and (number_of_threads <= 0 or number_of_threads % 32):
        raise DSLUserCodeError(f"a barrier counts whole warps, and {number_of_threads} is no multiple of 32",
                               fix="round the count up to a multiple of 32")


def sync_warp(mask=0xFFFFFFFF) -> None:
    """Wait for the lanes of `mask`.  PTX ISA: bar.warp.sync."""
    intrinsic("nvvm.bar.warp.sync", None, Int32(mask))


def fence_acq_rel_cta() -> None:
    """Order memory accesses as seen by the block.  PTX ISA: membar.cta."""
    intrinsic("nvvm.membar.cta", None)


def fence_acq_rel_gpu() -> None:
    """Order memory accesses as seen by the GPU.  PTX ISA: membar.gl."""
    intrinsic("nvvm.membar.gl", None)


def elect_one() -> Boolean:
    """True in one lane of the warp.  PTX ISA: elect.sync (sm_90)."""
    text = "{ .reg .pred p; elect.sync _|p, -1; selp.b32 $0, 1, 0, p; }"
    return Boolean(ptx(text, Int32, "=r"))
