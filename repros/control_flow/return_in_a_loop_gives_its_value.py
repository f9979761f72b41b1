# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""`return` inside a dynamic loop inside a dynamic `if` gives its value to the caller, and ends the function alone.
Source: Python, return; CuTe DSL's limitations refuse it (NVIDIA's diagnostic UNSUP_EARLY_EXIT).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 32, 24


@cute.jit
def smallest_divisor(n: cutlass.Int32):
    if n > 3:
        for d in range(2, n):
            if n % d == 0:
                return d
    return n


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    if tid < n:
        out[tid] = smallest_divisor(tid) * 100 + tid


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    divisors = [next((d for d in range(2, n) if n % d == 0), n) for n in range(N)]
    return {"out": np.array([d * 100 + n for n, d in enumerate(divisors)] + [-99] * (THREADS - N), np.int32)}


if __name__ == "__main__":
    print(run())
