# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# evidence = "published:xie2025"
# ///
"""Beside 1, the terms of an mma keep 25 fraction bits on Hopper and 24 on Ampere: of 2**-25 or of nothing.
Source: Xie et al. 2025, table of fraction bits; Fasi et al. 2021 found one bit more than a float has on A100.

Row k has 16 products of 2**-k, and the accumulator is 1. Larger products are summed, smaller ones vanish; at 2**-25 the
models differ, and each has a golden of its own.
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


FIRST = 18  # the power of the first row
LAST_BIT = 25 - FIRST


def run():
    a, b = (torch.zeros(rows, 16, dtype=torch.bfloat16, device="cuda") for rows in (16, 8))
    a[:] = (2.0 ** -torch.arange(FIRST, FIRST + 16, dtype=torch.float32))[:, None]
    b[:] = 1
    c = torch.ones(16, 8, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"summed": c[:LAST_BIT], "last_bit": c[LAST_BIT], "lost": c[LAST_BIT + 1 :]}


def expected():
    sizes = 1 + 16 * 2.0 ** -np.arange(FIRST, 25)
    lost = np.ones((15 - LAST_BIT, 8), np.float32)
    return {"summed": np.repeat(sizes[:, None], 8, axis=1).astype(np.float32), "lost": lost}


if __name__ == "__main__":
    print(run())
