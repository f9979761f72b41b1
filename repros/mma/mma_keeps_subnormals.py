# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""mma multiplies subnormal Float16 numbers as they are: nothing is flushed to zero.
Source: PTX ISA, mma.

2**-24, the least Float16, times 1024 is 2**-14; alone in its row and column.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    mine = mma.get_slice(lane)
    parts = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    of_a, of_b, of_c = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
    cute.autovec_copy(parts[0], of_a)
    cute.autovec_copy(parts[1], of_b)
    cute.autovec_copy(parts[2], of_c)
    # CHECK-PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    cute.gemm(mma, of_c, of_a, of_b, of_c)
    cute.autovec_copy(of_c, parts[2])


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    a, b = (torch.zeros(rows, 16, dtype=torch.float16, device="cuda") for rows in (16, 8))
    a[:, 0] = torch.arange(16) * 2.0**-24
    b[:, 0] = 1024
    c = torch.zeros(16, 8, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"c": c}


def expected():
    return {"c": np.repeat((np.arange(16) * 2.0**-14).astype(np.float32)[:, None], 8, axis=1)}


if __name__ == "__main__":
    print(run())
