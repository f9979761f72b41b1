# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A kernel that declares a name of the function around it `nonlocal` is rejected: it would outlive the trace.
Source: measured of NVIDIA's compiler 4.8.1, diagnostic UNSUP_NONLOCAL.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


def counting():
    calls = 0

    @cute.kernel
    def kernel(out: cute.Tensor, n: cutlass.Int32):
        nonlocal calls
        calls = calls + 1
        out[0] = n + calls

    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        kernel(out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))

    return host


def run():
    out = torch.full((1,), -99, dtype=torch.int32, device="cuda")
    counting()(from_dlpack(out), 4)
    return {"out": out}


if __name__ == "__main__":
    print(run())
