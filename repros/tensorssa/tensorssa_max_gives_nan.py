# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""TensorSSA.reduce(MAX) and (MIN) of floats give NaN where any element is NaN, whatever init_val is.
Source: CuTe DSL 4.8.1, measured.

The order of zeros is that of IEEE 754-2019 maximum and minimum: -0 is below +0.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

ROWS = [[1.0, 3.0, 2.0], [1.0, float("nan"), 2.0], [float("nan"), -5.0, 9.0], [-0.0, 0.0, -0.0]]


@cute.kernel
def kernel(x: cute.Tensor, largest: cute.Tensor, smallest: cute.Tensor):
    for i in cutlass.range_constexpr(4):
        row = x[i, None].load()
        largest[i] = row.reduce(cute.ReductionOp.MAX, -100.0, 0)
        smallest[i] = row.reduce(cute.ReductionOp.MIN, 100.0, 0)


@cute.jit
def host(x: cute.Tensor, largest: cute.Tensor, smallest: cute.Tensor):
    kernel(x, largest, smallest).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.tensor(ROWS, dtype=torch.float32, device="cuda")
    largest = torch.full((4,), -99.0, dtype=torch.float32, device="cuda")
    smallest = torch.full((4,), -99.0, dtype=torch.float32, device="cuda")
    host(from_dlpack(x), from_dlpack(largest), from_dlpack(smallest))
    return {"largest": largest, "smallest": smallest}


def expected():
    nan = np.nan  # max.NaN.f32 gives the canonical NaN, 0x7FFFFFFF
    canonical = np.array([0x7FFFFFFF], np.uint32).view(np.float32)[0]
    largest, smallest = np.array([3, nan, nan, 0.0], np.float32), np.array([1, nan, nan, -0.0], np.float32)
    for values in (largest, smallest):
        values[np.isnan(values)] = canonical
    return {"largest": largest, "smallest": smallest}


if __name__ == "__main__":
    print(run())
