# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { tile = ["0_2", "2_0", "5_3"] }
# ///
"""A box of which no element lies in the tensor is loaded all the same: zeros, and all its bytes count at the mbarrier.
Source: PTX ISA, cp.async.bulk.tensor; Tensors, out of bound access.

A tile is named by its row and column; the tensor has 2 x 2 of them.
Shared memory holds -5 before, so that what is zero was written.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (8, 16)


@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor, row: cutlass.Int32, column: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(16, 1)), 128)
    for i in cutlass.range_constexpr(4):
        box[tidx + 32 * i] = cutlass.Float16(-5.0)
    # CHECK-PTX: fence.proxy.async
    cute.arch.fence_proxy("async.shared", space="cta")
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 8 * 16 * 2)
    cute.arch.sync_threads()
    tiles = cute.local_tile(coords, TILE, (None, None))
    to, start = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    # CHECK-PTX: cp.async.bulk.tensor.2d
    cute.copy(load, start[(None, row, column)], to, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in cutlass.range_constexpr(8):
        out[i, tidx] = box[i, tidx % 16]


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, row: cutlass.Int32, column: cutlass.Int32):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, cute.make_layout(TILE, stride=(16, 1)), TILE
    )
    kernel(load, coords, out, row, column).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run(tile):
    row, column = map(int, tile.split("_"))
    a = torch.arange(1, 12 * 24 + 1, dtype=torch.float16).reshape(12, 24).to("cuda")
    out = torch.full((8, 32), -1, dtype=torch.float16, device="cuda")
    host(from_dlpack(a, assumed_align=16), from_dlpack(out), row, column)
    return {"out": out}


def expected(tile):
    return {"out": np.zeros((8, 32), np.float16)}


if __name__ == "__main__":
    print(run(tile="5_3"))
