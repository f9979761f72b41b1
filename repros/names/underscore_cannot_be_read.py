# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""The name `_` may be assigned and not read.
Source: CuTe DSL, limitations (special variables); diagnostic UNSUP_READ_UNDERSCORE.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 1, 4


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    _ = n * 2
    out[0] = _


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
