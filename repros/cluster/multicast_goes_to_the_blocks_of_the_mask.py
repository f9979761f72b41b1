# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { mask = [1, 13, 15] }
# ///
"""One multicast load puts the box, and its bytes, at the same offsets of each block whose bit is set, and of no other.
Source: PTX ISA, cp.async.bulk.tensor (.multicast::cluster).

Block 0 of four loads; the blocks of the mask expect the bytes, the others keep what was in their memory.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (4, 32)


@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor, mask: cutlass.Int16):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Int32, cute.make_layout(TILE, stride=(32, 1)), 128)
    for row in cutlass.range_constexpr(4):
        box[row, thread] = -1
    cute.arch.fence_proxy("async.shared", space="cta")
    mine = (cutlass.Int32(mask) >> rank) & 1
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        if mine == 1:
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, 512)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    tiles = cute.local_tile(coords, TILE, (None, None))
    to, start = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    if rank == 0:
        # CHECK-PTX: multicast::cluster
        cute.copy(load, start[(None, 0, 0)], to, tma_bar_ptr=barrier, mcast_mask=mask)
    if mine == 1:
        cute.arch.mbarrier_wait(barrier, 0)
    for row in cutlass.range_constexpr(4):
        out[rank, row, thread] = box[row, thread]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, mask: cutlass.Int16):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(), a, cute.make_layout(TILE, stride=(32, 1)), TILE, num_multicast=1
    )
    kernel(load, coords, out, mask).launch(grid=(4, 1, 1), block=(32, 1, 1), cluster=(4, 1, 1))


def run(mask):
    a = torch.arange(128, dtype=torch.int32).reshape(TILE).to("cuda")
    out = torch.full((4, *TILE), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(a, assumed_align=16), from_dlpack(out), cutlass.Int16(mask))
    return {"out": out}


def expected(mask):
    has = (mask >> np.arange(4) & 1)[:, None, None]
    return {"out": np.where(has, np.arange(128).reshape(TILE), -1).astype(np.int32)}


if __name__ == "__main__":
    print(run(mask=13))
