# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""ldmatrix.trans of a column-major tile gives each lane the elements that ldmatrix gives of the same tile row-major.
Source: PTX ISA, ldmatrix, .trans.

`plain` and `transposed` have the eight elements of each lane.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    memory = cutlass.memory.SmemAllocator()
    for trans in cutlass.range_constexpr(2):
        layout = cute.make_ordered_layout((16, 16), (0, 1) if trans else (1, 0))
        tile = memory.allocate_tensor(cutlass.Float16, layout, 16)
        for i in cutlass.range_constexpr(8):
            tile[lane // 2, lane % 2 * 8 + i] = a[lane // 2, lane % 2 * 8 + i]
        cute.arch.sync_threads()
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(trans == 1, 4), cutlass.Float16)
        load = cute.make_tiled_copy_A(atom, mma)
        fragment = mma.make_fragment_A(mma.partition_shape_A((16, 16)))
        # CHECK-PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
        # CHECK-PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
        cute.copy(load, load.get_slice(lane).partition_S(tile), load.get_slice(lane).retile(fragment))
        for i in cutlass.range_constexpr(8):
            out[trans, lane, i] = fragment[i]


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    a = torch.arange(256, device="cuda").reshape(16, 16).to(torch.float16)
    out = torch.zeros(2, 32, 8, dtype=torch.float16, device="cuda")
    host(from_dlpack(a), from_dlpack(out))
    return {"plain": out[0], "transposed": out[1]}


def expected():
    lane, i = np.meshgrid(np.arange(32), np.arange(8), indexing="ij")
    row, column = lane // 4 + 8 * (i // 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i // 4)
    fragment = (16 * row + column).astype(np.float16)
    return {"plain": fragment, "transposed": fragment}


if __name__ == "__main__":
    print(run())
