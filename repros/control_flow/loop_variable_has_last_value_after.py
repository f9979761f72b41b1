# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A loop variable that had a value before the loop has that of the last trip after it, or the old one after no trip.
Source: Python, for; measured of NVIDIA's compiler 4.8.1, which agrees.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 4


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    i = n * 10
    for i in range(n, tid):
        pass
    out[tid] = i


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    tid = np.arange(THREADS)
    return {"out": np.where(tid > N, tid - 1, N * 10).astype(np.int32)}


if __name__ == "__main__":
    print(run())
