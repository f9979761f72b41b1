# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""A reducing TMA store adds each block's box to what is in global memory, however many do so at once.
Source: PTX ISA, cp.reduce.async.bulk.tensor (.add; each reduction is atomic).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE, BLOCKS = (8, 32), 5


@cute.kernel
def kernel(store: cute.CopyAtom, coords: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    box = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(TILE, stride=(32, 1)), 128)
    for row in cutlass.range_constexpr(8):
        box[row, thread] = (block + 1) * (32 * row + thread)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    tiles = cute.local_tile(coords, TILE, (None, None))
    source, to = cpasync.tma_partition(
        store, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    # CHECK-PTX: cp.reduce.async.bulk.tensor.{{[12]}}d.global.shared::cta.add
    cute.copy(store, source, to[(None, 0, 0)])
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def host(out: cute.Tensor):
    store, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyReduceBulkTensorTileS2GOp(), out, cute.make_layout(TILE, stride=(32, 1)), TILE
    )
    kernel(store, coords).launch(grid=(BLOCKS, 1, 1), block=(32, 1, 1))


def run():
    out = torch.full(TILE, 7, dtype=torch.int32, device="cuda")
    host(from_dlpack(out, assumed_align=16))
    return {"out": out}


def expected():
    return {"out": (7 + sum(range(1, BLOCKS + 1)) * np.arange(256).reshape(TILE)).astype(np.int32)}


if __name__ == "__main__":
    print(run())
