# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""`break` in a loop over a dynamic range leaves that loop alone: each thread stops at its own trip.
Source: Python, break; CuTe DSL's limitations refuse it (NVIDIA's diagnostic UNSUP_EARLY_EXIT).

i * j grows with j, so the pairs counted before the break are all pairs whose product is at most tid.
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
    pairs = 0
    for i in range(n):
        for j in range(n):
            if i * j > tid:
                break
            pairs += 1
    out[tid] = pairs


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    i, j = np.indices((N, N))
    return {"out": np.array([np.sum(i * j <= tid) for tid in range(THREADS)], np.int32)}


if __name__ == "__main__":
    print(run())
