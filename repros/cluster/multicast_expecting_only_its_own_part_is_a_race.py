# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "race"
# ///
"""A block that expects the bytes of its own part of a multicast tile reads the others' before they may be there.
Source: PTX ISA, cp.async.bulk.tensor (.multicast::cluster); mbarrier, tracking asynchronous operations.

The phase ends with the first half of the tile, whosever it is.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (8, 32)


@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor, n: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Int32, cute.make_layout(TILE, stride=(32, 1)), 128)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 1024 // n)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    tiles = cute.local_tile(coords, TILE, (None, None))
    to, start = cpasync.tma_partition(
        load, rank, cute.make_layout(n), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    cute.copy(load, start[(None, 0, 0)], to, tma_bar_ptr=barrier, mcast_mask=cutlass.Int16((1 << n) - 1))
    cute.arch.mbarrier_wait(barrier, 0)
    for row in cutlass.range_constexpr(8):
        out[rank, row, thread] = box[row, thread]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, n: cutlass.Constexpr):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(), a, cute.make_layout(TILE, stride=(32, 1)), TILE, num_multicast=n
    )
    kernel(load, coords, out, n).launch(grid=(n, 1, 1), block=(32, 1, 1), cluster=(n, 1, 1))


def run():
    a = torch.arange(256, dtype=torch.int32).reshape(TILE).to("cuda")
    out = torch.full((2, *TILE), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(a, assumed_align=16), from_dlpack(out), 2)
    return {"out": out}


if __name__ == "__main__":
    print(run())
