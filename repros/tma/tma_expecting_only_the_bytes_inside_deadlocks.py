# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "deadlock"
# timeout = 20
# ///
"""A box over a tensor's edge brings its full bytes: a phase that expects those inside the tensor only never ends.
Source: PTX ISA, cp.async.bulk.tensor; Tensors, out of bound access.

Of the box of 8 x 16 bytes 3 x 15 lie in the tensor: 45, which no part of a copy brings.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (8, 16)


@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Int8, cute.make_layout(TILE, stride=(16, 1)), 128)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 3 * 15)
    cute.arch.sync_threads()
    tiles = cute.local_tile(coords, TILE, (None, None))
    to, start = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    cute.copy(load, start[(None, 1, 0)], to, tma_bar_ptr=barrier)  # the tile that starts at (8, 0)
    cute.arch.mbarrier_wait(barrier, 0)
    out[tidx] = box[tidx]


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, cute.make_layout(TILE, stride=(16, 1)), TILE
    )
    kernel(load, coords, out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    a = torch.zeros((11, 16), dtype=torch.int8, device="cuda")[:, :15]
    out = torch.zeros(32, dtype=torch.int8, device="cuda")
    host(from_dlpack(a, assumed_align=16), from_dlpack(out))
    torch.cuda.synchronize()
    return {"out": out}


if __name__ == "__main__":
    print(run())
