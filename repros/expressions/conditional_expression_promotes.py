# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "TYPE_CONDITIONAL_BRANCH_MISMATCH" }
# ///
"""`a if c else b` of an Int32 and a Float32 is a Float32 whichever is chosen.
Source: the rule of the arithmetic operators; NVIDIA's compiler 4.8.1 wants one type, measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 4, 7


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    x = n if tid < 2 else cutlass.Float32(tid) * 0.5
    out[tid] = x / 2


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99.0, dtype=torch.float32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    tid = np.arange(THREADS)
    return {"out": np.where(tid < 2, N / 2, tid / 4).astype(np.float32)}


if __name__ == "__main__":
    print(run())
