# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""An mma of TFloat32 takes the upper 19 bits of each Float32: the 13 lowest of the fraction are dropped, not rounded.
Source: PTX ISA, mma, .tf32 operands.

Row i of A holds 1 + 2**-i alone in its row; B is 1. What is left is 1 from row 11 on, where rounding would keep row 11.
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
    mma = cute.make_tiled_mma(warp.MmaTF32Op((16, 8, 8)))
    mine = mma.get_slice(lane)
    a, b = (cute.recast_tensor(each, cutlass.TFloat32) for each in (a, b))
    parts = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    of_a, of_b, of_c = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
    cute.autovec_copy(parts[0], of_a)
    cute.autovec_copy(parts[1], of_b)
    cute.autovec_copy(parts[2], of_c)
    # CHECK-PTX: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
    cute.gemm(mma, of_c, of_a, of_b, of_c)
    cute.autovec_copy(of_c, parts[2])


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    a, b = torch.zeros(16, 8, device="cuda"), torch.ones(8, 8, device="cuda")
    a[:, 0] = 1 + 2.0 ** -torch.arange(16)
    a[15, 0] = 1 + 2.0**-10 + 2.0**-11 + 2.0**-12
    c = torch.zeros(16, 8, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"c": c}


def expected():
    kept = np.where(np.arange(16) <= 10, 1 + 2.0 ** -np.arange(16), 1)
    kept[15] = 1 + 2.0**-10
    return {"c": np.repeat(kept.astype(np.float32)[:, None], 8, axis=1)}


if __name__ == "__main__":
    print(run())
