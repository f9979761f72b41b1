# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""mma.m16n8: lane 4 g + t holds C at rows g and g + 8, columns 2 t and 2 t + 1, in the order of its four registers.
Source: PTX ISA, Matrix Fragments for mma.m16n8k16.

Each lane fills its fragment of C with 4 * lane + register and stores it; `out` is the 16 x 8 matrix.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    mine = mma.get_slice(lane).partition_C(out)
    for i in cutlass.range_constexpr(4):
        mine[i] = cutlass.Float32(4 * lane + i)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    out = torch.full((16, 8), -1.0, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    row, column = np.meshgrid(np.arange(16), np.arange(8), indexing="ij")
    lane, register = 4 * (row % 8) + column // 2, 2 * (row // 8) + column % 2
    return {"out": (4 * lane + register).astype(np.float32)}


if __name__ == "__main__":
    print(run())
