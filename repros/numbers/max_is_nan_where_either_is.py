# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`max` and `min` of traced floats are NaN where either side is; of +0 and -0 they give the right one.
Source: NVIDIA's compiler, measured. Python's own max(1.0, nan) is 1.0.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

PAIRS = [(1.5, float("nan")), (float("nan"), 1.5), (0.0, -0.0), (-0.0, 0.0), (2.0, 1.0), (1.0, 2.0)]


@cute.kernel
def kernel(x: cute.Tensor, most: cute.Tensor, least: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    most[tid] = max(x[tid, 0], x[tid, 1])
    least[tid] = cutlass.min(x[tid, 0], x[tid, 1])


@cute.jit
def host(x: cute.Tensor, most: cute.Tensor, least: cute.Tensor):
    kernel(x, most, least).launch(grid=(1, 1, 1), block=(len(PAIRS), 1, 1))


def run():
    x = torch.tensor(PAIRS, dtype=torch.float32, device="cuda")
    most, least = (torch.full((len(PAIRS),), 99.0, dtype=torch.float32, device="cuda") for _ in range(2))
    host(from_dlpack(x), from_dlpack(most), from_dlpack(least))
    return {"most": most, "least": least}


def expected():
    nan = np.nan
    return {
        "most": np.array([nan, nan, -0.0, 0.0, 2.0, 2.0], np.float32),
        "least": np.array([nan, nan, -0.0, 0.0, 1.0, 1.0], np.float32),
    }


if __name__ == "__main__":
    print(run())
