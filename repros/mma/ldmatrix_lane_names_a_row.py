# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""ldmatrix.x4: lane 8 i + r names row r of matrix i, and lane l gets elements 2 (l % 4) and the next of its row l / 4.
Source: PTX ISA, ldmatrix.

A 16 x 16 tile of Float16 in shared memory holds 16 * row + column. `rows` has the element each lane's address names,
`got` the eight elements each lane receives: matrices 0 to 3 are the quarters of the tile that A of m16n8k16 takes.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, rows: cute.Tensor, got: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    row_major = cute.make_layout((16, 16), stride=(16, 1))
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, row_major, 16)
    for i in cutlass.range_constexpr(8):
        tile[lane // 2, lane % 2 * 8 + i] = a[lane // 2, lane % 2 * 8 + i]
    cute.arch.sync_threads()
    load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16), mma)
    mine = load.get_slice(lane)
    fragment = mma.make_fragment_A(mma.partition_shape_A((16, 16)))
    # CHECK-PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
    cute.copy(load, mine.partition_S(tile), mine.retile(fragment))
    rows[lane] = mine.partition_S(a)[0]
    for i in cutlass.range_constexpr(8):
        got[lane, i] = fragment[i]


@cute.jit
def host(a: cute.Tensor, rows: cute.Tensor, got: cute.Tensor):
    kernel(a, rows, got).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    a = torch.arange(256, device="cuda").reshape(16, 16).to(torch.float16)
    rows, got = (torch.zeros(shape, dtype=torch.float16, device="cuda") for shape in (32, (32, 8)))
    host(from_dlpack(a), from_dlpack(rows), from_dlpack(got))
    return {"rows": rows, "got": got}


def expected():
    lane, i = np.meshgrid(np.arange(32), np.arange(8), indexing="ij")
    row = lane // 4 + 8 * (i // 2 % 2)
    column = 2 * (lane % 4) + i % 2 + 8 * (i // 4)
    lanes = np.arange(32)
    rows = 16 * (lanes % 16) + 8 * (lanes // 16)
    return {"rows": rows.astype(np.float16), "got": (16 * row + column).astype(np.float16)}


if __name__ == "__main__":
    print(run())
