# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""atomic_fmax of a NaN leaves a NaN in memory, atomic_fmin of one leaves the number: they compare bits.
Source: CUTLASS, cute.arch.atomic_fmax; PTX ISA, atom.max.s32 and atom.min.u32.

A float without a sign is ordered as a signed integer, one with it backwards as an unsigned one; the bits of a NaN
without a sign are above infinity's.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

START = [2.0, -2.0, 0.0, -0.0, float("inf"), 1.0]
VALUES = [float("nan"), float("nan"), -0.0, 0.0, float("nan"), -3.5]


@cute.kernel
def kernel(x: cute.Tensor, most: cute.Tensor, least: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    # CHECK-PTX: atom.{{.*}}min.u32
    cute.arch.atomic_fmax(most.iterator + tid, x[tid])
    cute.arch.atomic_fmin(least.iterator + tid, x[tid])


@cute.jit
def host(x: cute.Tensor, most: cute.Tensor, least: cute.Tensor):
    kernel(x, most, least).launch(grid=(1, 1, 1), block=(len(VALUES), 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.float32, device="cuda")
    most, least = (torch.tensor(START, dtype=torch.float32, device="cuda") for _ in range(2))
    host(from_dlpack(x), from_dlpack(most), from_dlpack(least))
    return {"most": most, "least": least}


def expected():
    nan = np.nan
    return {
        "most": np.array([nan, nan, 0.0, 0.0, nan, 1.0], np.float32),
        "least": np.array([2.0, -2.0, -0.0, -0.0, np.inf, -3.5], np.float32),
    }


if __name__ == "__main__":
    print(run())
