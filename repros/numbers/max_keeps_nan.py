# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`max(x, 0.0)` keeps a NaN, `cute.arch.fmax(x, 0.0)` drops it: two spellings of ReLU that differ.
Source: PTX ISA, max (NaN inputs).

max.f32 returns the operand that is not NaN. Python's `max` is a compare and select, x unless x <= 0, and NaN <= 0 is
false. Both make +0 of -0.0.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [float("nan"), -0.0, 0.0, -1.5, 1.5, float("inf"), float("-inf")]


@cute.kernel
def kernel(x: cute.Tensor, python_max: cute.Tensor, fmax: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    # CHECK-PTX: max.f32
    python_max[tid] = max(x[tid], 0.0)
    fmax[tid] = cute.arch.fmax(x[tid], 0.0)


@cute.jit
def host(x: cute.Tensor, python_max: cute.Tensor, fmax: cute.Tensor):
    kernel(x, python_max, fmax).launch(grid=(1, 1, 1), block=(len(VALUES), 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.float32, device="cuda")
    python_max, fmax = torch.full_like(x, -1.0), torch.full_like(x, -1.0)
    host(from_dlpack(x), from_dlpack(python_max), from_dlpack(fmax))
    return {"python_max": python_max, "fmax": fmax}


def expected():
    relu = [0.0, 0.0, 0.0, 0.0, 1.5, np.inf, 0.0]
    return {"python_max": np.array([np.nan, *relu[1:]], np.float32), "fmax": np.array(relu, np.float32)}


if __name__ == "__main__":
    print(run())
