# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""`if const_expr(...)` over an argument of the kernel is rejected: it is decided while compiling.
Source: CuTe DSL, control flow; diagnostic PHASE_REQUIRES_CONSTANT.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 1, 4


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    if cutlass.const_expr(n > 3):
        out[0] = n


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
