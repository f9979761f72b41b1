# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_LOOP_ELSE" }
# ///
"""The `else` of a loop over a dynamic range runs once after the last trip, and after no trip at all.
Source: Python, for; NVIDIA's compiler 4.8.1 refuses it, measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 5


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    total = 0
    for i in range(n, tid):
        total += i
    else:
        total += 100
    out[tid] = total


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    return {"out": np.array([100 + np.arange(N, tid).sum() for tid in range(THREADS)], np.int32)}


if __name__ == "__main__":
    print(run())
