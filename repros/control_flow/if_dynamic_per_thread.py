# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { limit = [0, 20, 64] }
# ///
"""A dynamic `if`/`elif`/`else` lets every thread take its own arm, and its assignments are seen after it.
Source: CuTe DSL, control flow (If-Else Statements).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 64


@cute.kernel
def kernel(out: cute.Tensor, limit: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    arm, value = cutlass.Int32(0), cutlass.Int32(0)
    if tid < limit:
        arm, value = 1, tid * 10
    elif tid % 2 == 0 and tid < 2 * limit:
        arm = 2
        if tid > limit + 4:
            value = -tid
    else:
        value = tid + limit
    out[tid, 0] = arm
    out[tid, 1] = value


@cute.jit
def host(out: cute.Tensor, limit: cutlass.Int32):
    kernel(out, limit).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(limit):
    out = torch.full((THREADS, 2), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), limit)
    return {"out": out}


def expected(limit):
    tid = np.arange(THREADS)
    first = tid < limit
    second = ~first & (tid % 2 == 0) & (tid < 2 * limit)
    arm = np.where(first, 1, np.where(second, 2, 0))
    inner = np.where(tid > limit + 4, -tid, 0)
    value = np.where(first, tid * 10, np.where(second, inner, tid + limit))
    return {"out": np.stack([arm, value], 1).astype(np.int32)}


if __name__ == "__main__":
    print(run(limit=0))
