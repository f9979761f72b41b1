# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "PHASE_DYNAMIC_INDEX" }
# ///
"""A jit function called from Python returns the numbers that it computed and that its kernel's launch was given.
Source: Python; NVIDIA's compiler 4.8.1 returns an Int32 without a value, which int() refuses, measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

N = 7


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    out[0] = n


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    total = n * 0
    for i in range(n):
        total += i
    kernel(out, total).launch(grid=(1, 1, 1), block=(1, 1, 1))
    return total, n // 2


def run():
    out = torch.full((1,), -99, dtype=torch.int32, device="cuda")
    total, half = host(from_dlpack(out), N)
    return {"out": out, "returned": np.array([int(total), int(half)])}


def expected():
    total = np.arange(N).sum()
    return {"out": np.array([total], np.int32), "returned": np.array([total, N // 2])}


if __name__ == "__main__":
    print(run())
