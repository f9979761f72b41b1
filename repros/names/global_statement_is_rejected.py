# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A kernel that declares a name `global` is rejected: the assignment would outlive the trace.
Source: measured of NVIDIA's compiler 4.8.1, diagnostic UNSUP_GLOBAL.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 1, 4
calls = 0


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    global calls
    calls = calls + 1
    out[0] = n + calls


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
