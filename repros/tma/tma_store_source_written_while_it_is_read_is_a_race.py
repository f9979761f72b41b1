# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "race"
# ///
"""To write the source of a TMA store again before wait_group.read is a race with the store's read.
Source: PTX ISA, cp.async.bulk.wait_group (.read); memory consistency model, async proxy.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (8, 32)


@cute.kernel
def kernel(store: cute.CopyAtom, coords: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    box = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(TILE, stride=(32, 1)), 128)
    tiles = cute.local_tile(coords, TILE, (None, None))
    source, to = cpasync.tma_partition(
        store, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    for trip in cutlass.range_constexpr(3):
        for row in cutlass.range_constexpr(8):
            box[row, thread] = 1000 * trip + 32 * row + thread
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        cute.copy(store, source, to[(None, trip, 0)])
        cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def host(out: cute.Tensor):
    store, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), out, cute.make_layout(TILE, stride=(32, 1)), TILE
    )
    kernel(store, coords).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    out = torch.full((24, 32), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out, assumed_align=16))
    return {"out": out}


if __name__ == "__main__":
    print(run())
