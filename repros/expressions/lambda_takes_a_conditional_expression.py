# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A lambda with `a if c else b` over dynamic values gives what a function would.
Source: NVIDIA/cutlass issue 3061.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 8


@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    clamp = lambda x, low, high: low if x < low else (high if x > high else x)
    out[t] = clamp(t * 3 - 5, 0, 10)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    return {"out": np.clip(np.arange(THREADS, dtype=np.int32) * 3 - 5, 0, 10)}


if __name__ == "__main__":
    print(run())
