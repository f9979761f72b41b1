# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { base = [0, 2, 3] }
# ///
"""Swizzle(b, m, s) xors the b bits that lie s above bit m into the b bits from bit m on.
Source: CuTe, swizzle functor.

With it a column of a row-major 8 x 8 tile lies in eight different banks.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

BITS, SHIFT = 3, 3


@cute.kernel
def kernel(out: cute.Tensor, base: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    for step in cutlass.range_constexpr(8):
        plain = cute.make_layout(512)
        swizzled = cute.make_composed_layout(cute.make_swizzle(BITS, base, SHIFT), 0, plain)
        out[step * 64 + i] = swizzled(step * 64 + i)


@cute.jit
def host(out: cute.Tensor, base: cutlass.Constexpr):
    kernel(out, base).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run(base):
    out = torch.full((512,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), base)
    return {"out": out}


def expected(base):
    i = np.arange(512, dtype=np.int32)
    mask = ((1 << BITS) - 1) << (base + SHIFT)
    return {"out": i ^ ((i & mask) >> SHIFT)}


if __name__ == "__main__":
    print(run(base=0))
