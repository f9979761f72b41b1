"""The launches of the .cu files here: what each pair gets, computes and is found with."""

from __future__ import annotations

import numpy as np

from tests.emulator.pairs.launched import Launch, floats, ints


def stencil(cells: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        padded = np.pad(cells, 1)
        cells = padded[:-2] + padded[2:]
    return cells


def zeros(count: int, kind=np.float32) -> np.ndarray:
    return np.zeros(count, kind)


_LINE, _RACE = np.arange(256), "race"
_INTS = np.int32
# by source file
PAIRS = {
    "blocks": [
        Launch("variance", _RACE, "no barrier between", "`__syncthreads()`", [floats(128), zeros(1)],
             np.var(floats(128), keepdims=True), block=128),
        Launch("last_warp", _RACE, "no barrier between", "`__syncwarp()`", [ints(128), zeros(1, _INTS)],
             ints(128).sum(keepdims=True), block=128),
        Launch("guarded", "divergent_barrier", "do not come to this barrier", "out of the branch",
             [ints(128), zeros(128, _INTS), 100], np.append(ints(128)[99::-1], zeros(28)), block=128),
        Launch("some_lanes", "undefined_read", "takes no part in the shuffle", "comes to the shuffle",
             [ints(32), zeros(1, _INTS), 20], ints(32)[:20].sum(keepdims=True), block=32),
        Launch("transposed", _RACE, "no barrier between", "`__syncthreads()`", [ints(1024), zeros(1024, _INTS), 4],
             ints(1024).reshape(4, 16, 16).transpose(0, 2, 1).ravel(), block=256),
        Launch("halo", "undefined_read", "which nobody wrote", "write it first", [floats(256), zeros(256), 256],
             np.convolve(floats(256), [1, 1, 1], "same"), grid=2, block=128),
        Launch("vectors", "misaligned", "is not aligned to 16 bytes", "a multiple of 16", [floats(54), zeros(54), 18], 2 * floats(54), grid=3, block=32),
        Launch("two_arrays", "out_of_bounds", "256 dynamic", "", [ints(64), zeros(64, _INTS)], ints(64)[::-1] % 32768,
             smem_bytes=256),
    ],
    "flags": [
        Launch("split_k", _RACE, "nothing orders", "`__syncthreads()`", [zeros(64), zeros(1, _INTS)],
             zeros(64) + 6, grid=3, result=0),
        Launch("fixup", _RACE, "nothing orders", "`__threadfence()`", [zeros(64), zeros(1, _INTS), zeros(64)],
             _LINE[:64] + 1, grid=2),
        Launch("look_back", _RACE, "nothing orders", "`cuda::memory_order_release`", [ints(4), zeros(4, _INTS), zeros(4, _INTS), zeros(4, _INTS)],
             ints(4).cumsum(), grid=4, block=1),
        Launch("block_scope", _RACE, "nothing orders", "`cuda::thread_scope_device", [zeros(4, _INTS), zeros(1, _INTS), zeros(1, _INTS)],
             np.array([10]), grid=4, block=1),
        Launch("locked", _RACE, "nothing orders", "`__threadfence()`", [zeros(1, _INTS), zeros(1)], np.array([6]), grid=4,
             block=32),
    ],
    "copies": [
        Launch("tail", _RACE, "a copy that was not waited for writes", "`__pipeline_wait_prior(0)`", [floats(512), zeros(32), 4],
             floats(512).reshape(16, 32).sum(0)[::-1], block=32),
        Launch("reused", _RACE, "no barrier between", "`__syncthreads()`", [floats(1024), zeros(64), 4],
             floats(1024).reshape(16, 64).sum(0)[::-1]),
        Launch("own_copies", _RACE, "no barrier", "`__syncthreads()`", [floats(256), zeros(64)], floats(256)[:191:-1]),
        Launch("bulk_store", _RACE, "no fence.proxy.async between", "`cuda::ptx::fence_proxy_async", [zeros(128)], 2 * _LINE[:128], block=128),
        Launch("epilogue", _RACE, "still reads", "cuda::ptx::cp_async_bulk_wait_group_read", [zeros(512), 4],
             (100 * np.arange(4)[:, None] + np.arange(128)).ravel(), block=128),
        Launch("parity", _RACE, "still writes", "parity 1", [floats(512), zeros(64), 8], floats(512).reshape(8, 64).sum(0)[::-1]),
        Launch("given_back", _RACE, "the slot was not given back", "`cuda::ptx::mbarrier_try_wait_parity`", [floats(256), zeros(32), 4],
             (floats(256) + floats(256).reshape(4, 64)[:, ::-1].ravel()).reshape(4, 64).sum(0)[:32]),
    ],
    "clusters": [
        Launch("histogram", _RACE, "no barrier of the cluster between", "`cluster.sync()`", [ints(300) % 128, zeros(128, _INTS), 300],
             np.bincount(ints(300) % 128, minlength=128), grid=2),
        Launch("exit_early", "exited_block", "which has exited", "`cluster.sync()`", [floats(4), zeros(4)],
             zeros(4) + floats(4).sum(), grid=4, block=32),
        Launch("steps", _RACE, "nothing orders blocks", "`cooperative_groups::this_grid().sync()`", [floats(128), zeros(128), 128, 3], stencil(floats(128), 3), grid=2,
             result=1, cooperative=True),
        Launch("second_kernel", _RACE, "which the launch before", "`cudaGridDependencySynchronize()`",
             [zeros(64), zeros(64)], 3 * _LINE[:64] + 1, overlaps="first_kernel"),
    ],
}  # fmt: skip
