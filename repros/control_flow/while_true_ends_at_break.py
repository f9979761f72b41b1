# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""`while True` with a `break` ends at the break, and what was assigned before it is there afterwards.
Source: Python, while; CuTe DSL's limitations refuse it (NVIDIA's diagnostic UNSUP_EARLY_EXIT).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 32, 27


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    x, steps = tid + n, 0
    while True:
        if x == 1:
            break
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    out[tid] = steps


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def collatz(x):
    return 0 if x == 1 else 1 + collatz(x // 2 if x % 2 == 0 else 3 * x + 1)


def expected():
    return {"out": np.array([collatz(N + tid) for tid in range(THREADS)], np.int32)}


if __name__ == "__main__":
    print(run())
