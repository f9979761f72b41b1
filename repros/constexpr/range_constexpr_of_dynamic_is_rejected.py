# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""`range_constexpr(n)` over an argument of the kernel is rejected: its trips are counted while compiling.
Source: CuTe DSL, control flow; diagnostic ARG_NON_CONSTANT.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 1, 4


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    for i in cutlass.range_constexpr(n):
        out[0] = i


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
