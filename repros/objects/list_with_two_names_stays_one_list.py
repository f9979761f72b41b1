# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { outputs = { other = [4, 5] } }
# ///
"""A list that a dynamic loop changes is changed under its other names too.
Source: Python. NVIDIA's compiler 4.8.1 carries a copy: the other name keeps the old elements, measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

TRIPS = 4


@cute.kernel
def kernel(out: cute.Tensor, other: cute.Tensor, n: cutlass.Int32):
    xs = [n, n + 1]
    ys = xs
    for i in range(n):
        xs[0] += i
    out[0], out[1] = xs[0], xs[1]
    other[0], other[1] = ys[0], ys[1]


@cute.jit
def host(out: cute.Tensor, other: cute.Tensor, n: cutlass.Int32):
    kernel(out, other, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out, other = (torch.full((2,), -99, dtype=torch.int32, device="cuda") for _ in range(2))
    host(from_dlpack(out), from_dlpack(other), TRIPS)
    return {"out": out, "other": other}


def expected():
    one = np.array([TRIPS + np.arange(TRIPS).sum(), TRIPS + 1], np.int32)
    return {"out": one, "other": one}


if __name__ == "__main__":
    print(run())
