# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""cutlass.max and min of an Int32 and a Float32 are Float32: the fraction survives, and 2**24 + 1 does not.
Source: measured of NVIDIA's compiler 4.8.1; limitations.rst of CuTe DSL says that it is refused.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

INTS = [1, 2, 3, -4, 2**24 + 1]
FLOATS = [1.5, 1.5, 3.5, -3.5, 0.25]


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, most: cute.Tensor, least: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    most[tid] = cutlass.max(x[tid], y[tid])
    least[tid] = cutlass.min(x[tid], y[tid])


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, most: cute.Tensor, least: cute.Tensor):
    kernel(x, y, most, least).launch(grid=(1, 1, 1), block=(len(INTS), 1, 1))


def run():
    x = torch.tensor(INTS, dtype=torch.int32, device="cuda")
    y = torch.tensor(FLOATS, dtype=torch.float32, device="cuda")
    most, least = (torch.full((len(INTS),), -99.0, dtype=torch.float64, device="cuda") for _ in range(2))
    host(from_dlpack(x), from_dlpack(y), from_dlpack(most), from_dlpack(least))
    return {"most": most, "least": least}


def expected():
    x, y = np.array(INTS, np.float32), np.array(FLOATS, np.float32)
    return {"most": np.maximum(x, y).astype(np.float64), "least": np.minimum(x, y).astype(np.float64)}


if __name__ == "__main__":
    print(run())
