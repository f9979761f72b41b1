# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`cutlass.range(n, prefetch_stages=2)` over a loop without a TMA copy is the loop without it.
Source: measured of NVIDIA's compiler 4.8.1, which says that software pipelining was skipped.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LENGTH = 10


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    # CHECK-PTX-NOT: cp.async
    total = 0
    for i in cutlass.range(n, prefetch_stages=2):
        total += x[i] * i
        out[i] = total


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    kernel(x, out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.arange(LENGTH, dtype=torch.int32, device="cuda")
    out = torch.full((LENGTH,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out), LENGTH)
    return {"out": out}


def expected():
    return {"out": np.cumsum(np.arange(LENGTH) ** 2).astype(np.int32)}


if __name__ == "__main__":
    print(run())
