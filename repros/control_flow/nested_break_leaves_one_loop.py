# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""A `break` in the inner of two dynamic loops ends that loop; a flag it leaves ends the outer one too.
Source: Python, break; CuTe DSL's limitations refuse it (NVIDIA's diagnostic UNSUP_EARLY_EXIT).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 32, 9


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    row = cutlass.Int32(-1)
    column = cutlass.Int32(-1)
    for i in range(n):
        for j in range(i + 1):
            if i * j > tid:
                row, column = i, j
                break
        if row >= 0:
            break
    out[tid] = row * 100 + column


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    pairs = [(i, j) for i in range(N) for j in range(i + 1)]
    found = [next(((i, j) for i, j in pairs if i * j > t), (-1, -1)) for t in range(THREADS)]
    return {"out": np.array([i * 100 + j for i, j in found], np.int32)}


if __name__ == "__main__":
    print(run())
