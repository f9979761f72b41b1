# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A `for` over run-time bounds makes Python's trips: also none, also backwards; the target keeps its last value.
Source: CuTe DSL, control flow (For Loops).

One compiled function takes every (start, stop, step). A target set before the loop is its old value after zero trips.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

RANGES = [(0, 5, 1), (5, 0, -1), (3, 3, 1), (5, 0, 1), (0, 10, 3), (10, -1, -4), (-3, 3, 2), (0, -5, 1)]


@cute.kernel
def kernel(out: cute.Tensor, start: cutlass.Int32, stop: cutlass.Int32, step: cutlass.Int32):
    trips, total, i = cutlass.Int32(0), cutlass.Int32(0), cutlass.Int32(-77)
    for i in range(start, stop, step):
        trips += 1
        total = total * 10 + i
    out[0] = trips
    out[1] = total
    out[2] = i


@cute.jit
def host(out: cute.Tensor, start: cutlass.Int32, stop: cutlass.Int32, step: cutlass.Int32):
    kernel(out, start, stop, step).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((len(RANGES), 3), -1, dtype=torch.int32, device="cuda")
    compiled = cute.compile(host, from_dlpack(out[0]), 0, 1, 1)
    for row, (start, stop, step) in zip(out, RANGES):
        compiled(from_dlpack(row), start, stop, step)
    return {"out": out}


def expected():
    out = np.zeros((len(RANGES), 3), np.int32)
    for row, bounds in zip(out, RANGES):
        trips, total, i = 0, 0, -77
        for i in range(*bounds):
            trips, total = trips + 1, total * 10 + i
        row[:] = trips, total, i
    return {"out": out}


if __name__ == "__main__":
    print(run())
