# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# evidence = "published:xie2025"
# ///
"""Hopper adds the 16 products of an mma at once, Ampere one half of K after the other: 2**-24 beside 1 and -1 tells.
Source: Xie et al. 2025, on the shapes that Ampere splits.

Column 0 of A gives the product 1, column 8 gives -1; row r has 2**-24 at column r. At once the sum is 2**-24. In halves
1 + 2**-24 is truncated to 1 before -1 comes, so what stands in the first half is lost there.
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
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16)))
    mine = mma.get_slice(lane)
    parts = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    of_a, of_b, of_c = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
    cute.autovec_copy(parts[0], of_a)
    cute.autovec_copy(parts[1], of_b)
    cute.autovec_copy(parts[2], of_c)
    # CHECK-PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    cute.gemm(mma, of_c, of_a, of_b, of_c)
    cute.autovec_copy(of_c, parts[2])


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))


SMALL = 2.0**-24


def run():
    a, b = (torch.zeros(rows, 16, dtype=torch.bfloat16, device="cuda") for rows in (16, 8))
    b[:] = 1
    a.fill_diagonal_(SMALL)
    a[:, 0], a[:, 8] = 1, -1
    c = torch.zeros(16, 8, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"with_1": c[1:8], "with_minus_1": c[9:], "alone": c[::8]}


def expected():
    return {"with_minus_1": np.full((7, 8), SMALL, np.float32), "alone": np.zeros((2, 8), np.float32)}


if __name__ == "__main__":
    print(run())
