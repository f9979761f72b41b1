# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "invalid_launch"
# ///
"""A block of 2048 threads compiles, and its launch is refused.  Source: CUDA guide, compute capabilities: 1024."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    x[0] = 1.0


@cute.jit
def host(x: cute.Tensor, threads: cutlass.Int32):
    kernel(x).launch(grid=(1, 1, 1), block=(threads, 1, 1))


def run():
    x = torch.zeros(1, dtype=torch.float32, device="cuda")
    host(from_dlpack(x), 2048)
    return {"x": x}


if __name__ == "__main__":
    print(run())
