# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "TYPE_DYNAMIC_EXPR_UNSUPPORTED" }
# ///
"""An attribute that a method changes in a dynamic loop has its last value after it, whatever name reads it.
Source: Python; CuTe DSL's limitations refuse it (NVIDIA's diagnostic TYPE_DYNAMIC_EXPR_UNSUPPORTED).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 5


class Counter:
    def __init__(self, value):
        self.value = value

    def add(self, step):
        self.value += step


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    counter = Counter(tid)
    same = counter
    for i in range(n):
        if i > tid:
            counter.add(i)
    out[tid] = same.value


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    return {"out": np.array([tid + np.arange(tid + 1, N).sum() for tid in range(THREADS)], np.int32)}


if __name__ == "__main__":
    print(run())
