# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "PHASE_DYNAMIC_TO_STATIC_BOOL" }
# ///
"""A plain Python function that a kernel calls may branch and return on dynamic values.
Source: Python; NVIDIA's compiler 4.8.1 rewrites decorated functions only (PHASE_DYNAMIC_TO_STATIC_BOOL), measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 5


def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = clamp(tid, 2, n)


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    return {"out": np.clip(np.arange(THREADS), 2, N).astype(np.int32)}


if __name__ == "__main__":
    print(run())
