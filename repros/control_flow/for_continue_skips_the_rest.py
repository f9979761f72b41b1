# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""`continue` in a loop over a dynamic range skips the rest of that trip and no other.
Source: Python, continue; CuTe DSL's limitations refuse it (NVIDIA's diagnostic UNSUP_EARLY_EXIT).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 20


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    total = 0
    for i in range(n):
        if i % (tid + 1) != 0:
            continue
        total += i
    out[tid] = total


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    return {"out": np.array([np.arange(0, N, tid + 1).sum() for tid in range(THREADS)], np.int32)}


if __name__ == "__main__":
    print(run())
