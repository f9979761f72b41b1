# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# evidence = "published:fasi2021"
# ///
"""The sum of an mma is normalised once, at the end: 1 - 2**-24 and four products of 2**-24 give 1 + 2**-23.
Source: Fasi, Higham, Mikaitis, Pranesh 2021, on the normalisation of partial sums (V100, T4, A100).

Added one by one, each sum truncated, the second product would already be lost: 1 + 2**-24 is no float. The sum keeps
it, wherever the products stand.
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


def run():
    a, b = (torch.zeros(rows, 16, dtype=torch.bfloat16, device="cuda") for rows in (16, 8))
    b[:] = 1
    for row in range(8):  # the products stand at neighbouring places, at others in each row
        a[row, [(row + k) % 8 for k in range(4)]] = 2.0**-24
    a[8:, 3] = 2.0**-24  # one alone
    c = torch.full((16, 8), 1 - 2.0**-24, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"four": c[:8], "one": c[8:]}


def expected():
    return {"four": np.full((8, 8), 1 + 2.0**-23, np.float32), "one": np.ones((8, 8), np.float32)}


if __name__ == "__main__":
    print(run())
