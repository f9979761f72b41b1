# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A NaN of A makes NaN of its row of D and of nothing else; infinity times 0 makes NaN too.
Source: IEEE 754; PTX ISA, mma.

Row 2 of A holds a NaN, row 5 an infinity, whose products are infinity, and 0 times infinity in column 1. `nan` and
`infinite` say where D is which.
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
    a, b = (torch.ones(rows, 16, dtype=torch.float16, device="cuda") for rows in (16, 8))
    a[2, 7] = float("nan")
    a[5, 9] = float("inf")
    b[1, 9] = 0
    c = torch.zeros(16, 8, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"nan": torch.isnan(c), "infinite": torch.isinf(c)}


def expected():
    nan, infinite = np.zeros((16, 8), bool), np.zeros((16, 8), bool)
    nan[2], nan[5, 1] = True, True
    infinite[5] = ~nan[5]
    return {"nan": nan, "infinite": infinite}


if __name__ == "__main__":
    print(run())
