# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`i in (1, 3, n)` is true in the threads where i equals one of them; `not in` is its opposite.
Source: Python, Membership test operations; measured of NVIDIA's compiler 4.8.1.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 6


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    found = cutlass.Int32(0)
    if tid in (1, 3, n):
        found = cutlass.Int32(10)
    if tid not in (0, 3):
        found = found + 1
    out[tid] = found


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    tid = np.arange(THREADS)
    return {"out": (np.isin(tid, (1, 3, N)) * 10 + ~np.isin(tid, (0, 3))).astype(np.int32)}


if __name__ == "__main__":
    print(run())
