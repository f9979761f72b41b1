# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { trips = [0, 3, 8] }
# ///
"""`range_constexpr` leaves no loop in PTX, and a `break` under `const_expr` ends it while tracing.
Source: CuTe DSL, control flow (For Loops).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

STOP = 5


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, trips: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    acc = cutlass.Int32(0)
    # CHECK-PTX-NOT: bra
    # CHECK-PTX: ret;
    for i in cutlass.range_constexpr(trips):
        if cutlass.const_expr(i == STOP):
            break
        acc = acc * 2 + src[tid] + i
    out[tid] = acc


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, trips: cutlass.Constexpr):
    kernel(src, out, trips).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run(trips):
    src = torch.arange(32, dtype=torch.int32, device="cuda")
    out = torch.full((32,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(src), from_dlpack(out), trips)
    return {"out": out}


def expected(trips):
    src = np.arange(32, dtype=np.int32)
    out = np.zeros(32, np.int32)
    for i in range(min(trips, STOP)):
        out = out * 2 + src + i
    return {"out": out.astype(np.int32)}


if __name__ == "__main__":
    print(run(trips=0))
