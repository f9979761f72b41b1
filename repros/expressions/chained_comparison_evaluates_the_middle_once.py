# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`0 < f(i) < 5` calls f once, and compares its one value with both ends.
Source: Python, Comparisons; measured of NVIDIA's compiler 4.8.1.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [-3, 0, 1, 4, 5, 9]


@cute.jit
def counted(calls: cute.Tensor, i: cutlass.Int32, value: cutlass.Int32):
    calls[i] = calls[i] + 1
    return value


@cute.kernel
def kernel(x: cute.Tensor, calls: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = 0
    if 0 < counted(calls, tid, x[tid]) < 5:
        out[tid] = 1


@cute.jit
def host(x: cute.Tensor, calls: cute.Tensor, out: cute.Tensor):
    kernel(x, calls, out).launch(grid=(1, 1, 1), block=(len(VALUES), 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.int32, device="cuda")
    calls = torch.zeros(len(VALUES), dtype=torch.int32, device="cuda")
    out = torch.full((len(VALUES),), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(calls), from_dlpack(out))
    return {"calls": calls, "out": out}


def expected():
    x = np.array(VALUES)
    return {"calls": np.ones(len(VALUES), np.int32), "out": ((0 < x) & (x < 5)).astype(np.int32)}


if __name__ == "__main__":
    print(run())
