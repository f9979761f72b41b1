# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A Python list cannot grow in a dynamic loop: how many elements it has is known while compiling.
Source: CuTe DSL, limitations (Python data types); diagnostic TYPE_UNSTABLE_JOIN.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 1, 4


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    xs = [n]
    for i in range(n):
        xs.append(i)
    out[0] = xs[0]


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
