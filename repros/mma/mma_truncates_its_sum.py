# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# evidence = "published:fasi2021"
# ///
"""The sum of an mma is truncated, not rounded: 2 + 1.5 ulp becomes 2 + 1 ulp, and -2 - 1.5 ulp becomes -2 - 1 ulp.
Source: Fasi, Higham, Mikaitis, Pranesh 2021, on the rounding of additions (V100, T4, A100).

One product is 1.5 ulp of 2, the accumulator is 2. To nearest even it would be 2 + 2 ulp.
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


ULP_OF_2 = 2.0**-22


def run():
    a, b = (torch.zeros(rows, 16, dtype=torch.bfloat16, device="cuda") for rows in (16, 8))
    c = torch.full((16, 8), 2.0, device="cuda")
    a[:, 5], b[:, 5] = 1.5 * ULP_OF_2, 1
    a[8:], c[8:] = -a[8:], -c[8:]
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"positive": c[:8], "negative": c[8:]}


def expected():
    truncated = np.full((8, 8), 2 + ULP_OF_2, np.float32)
    return {"positive": truncated, "negative": -truncated}


if __name__ == "__main__":
    print(run())
