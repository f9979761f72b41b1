# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""TMA stores of a box over a tensor's edge what lies inside: the bytes behind a row's end and the last row stay.
Source: PTX ISA, cp.async.bulk.tensor; Tensors, out of bound access.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (8, 16)


@cute.kernel
def kernel(store: cute.CopyAtom, coords: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    box = smem.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(16, 1)), 128)
    for i in cutlass.range_constexpr(4):
        box[i * 2 + tidx // 16, tidx % 16] = cutlass.Float16(tidx + 32 * i)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    tiles = cute.local_tile(coords, TILE, (None, None))
    source, start = cpasync.tma_partition(
        store, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    if tidx == 0:
        # CHECK-PTX: cp.async.bulk.tensor.2d.global.shared::cta{{.*}}bulk_group
        cute.copy(store, source, start[(None, 1, 1)])  # the tile that starts at (8, 16)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def host(a: cute.Tensor):
    store, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), a, cute.make_layout(TILE, stride=(16, 1)), TILE
    )
    kernel(store, coords).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    memory = torch.full((16, 32), -1, dtype=torch.float16, device="cuda")
    host(from_dlpack(memory[:11, :21], assumed_align=16))
    return {"memory": memory}


def expected():
    memory = np.full((16, 32), -1, np.float16)
    memory[8:11, 16:21] = np.arange(128).reshape(TILE)[:3, :5]
    return {"memory": memory}


if __name__ == "__main__":
    print(run())
