# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""TMA loads a box over a tensor's edge whole: elements outside are zero, and their bytes count at the mbarrier.
Source: PTX ISA, cp.async.bulk.tensor; Tensors, out of bound access."""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (8, 16)


@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(16, 1)), 128)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 8 * 16 * 2)
    cute.arch.sync_threads()
    tiles = cute.local_tile(coords, TILE, (None, None))  # ((8, 16, tiles of M, tiles of N))
    to, start = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    cute.copy(load, start[(None, 1, 1)], to, tma_bar_ptr=barrier)  # the tile that starts at (8, 16)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in range(4):
        out[tidx + 32 * i] = box[tidx + 32 * i]


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, cute.make_layout(TILE, stride=(16, 1)), TILE
    )
    kernel(load, coords, out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    a = torch.arange(1, 12 * 24 + 1, dtype=torch.float16).reshape(12, 24).to("cuda")
    out = torch.full((128,), -1, dtype=torch.float16, device="cuda")
    host(from_dlpack(a, assumed_align=16), from_dlpack(out))
    return {"out": out}


def expected():
    a = np.arange(1, 12 * 24 + 1, dtype=np.float16).reshape(12, 24)
    return {"out": np.pad(a[8:, 16:], ((0, 4), (0, 8))).T.reshape(-1)}  # a layout counts its first mode first


if __name__ == "__main__":
    print(run())
