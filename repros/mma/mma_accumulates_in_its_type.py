# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { acc = ["f16", "f32"] }
# ///
"""An accumulator of Float16 is rounded by every mma: 4096 + 1 stays 4096, where one of Float32 becomes 4097.
Source: PTX ISA, mma: .f16 and .f32 accumulators.

One product is 1 and all others are 0, so the order of the sum does not matter.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, acc: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, acc, (16, 8, 16)))
    mine = mma.get_slice(lane)
    parts = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    of_a, of_b, of_c = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
    cute.autovec_copy(parts[0], of_a)
    cute.autovec_copy(parts[1], of_b)
    cute.autovec_copy(parts[2], of_c)
    # CHECK-PTX(acc=f16): mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
    # CHECK-PTX(acc=f32): mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    cute.gemm(mma, of_c, of_a, of_b, of_c)
    cute.autovec_copy(of_c, parts[2])


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, acc: cutlass.Constexpr):
    kernel(a, b, c, acc).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run(acc):
    a, b = (torch.zeros(rows, 16, dtype=torch.float16, device="cuda") for rows in (16, 8))
    a[:, 3] = 1
    b[:, 3] = 1
    c = torch.full((16, 8), 4096.0, dtype={"f16": torch.float16, "f32": torch.float32}[acc], device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c), {"f16": cutlass.Float16, "f32": cutlass.Float32}[acc])
    return {"c": c}


def expected(acc):
    return {"c": np.full((16, 8), 4097, np.float32).astype({"f16": np.float16, "f32": np.float32}[acc])}


if __name__ == "__main__":
    print(run(acc="f16"))
