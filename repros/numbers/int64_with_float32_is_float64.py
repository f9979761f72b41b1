# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Int64 + Float32 is a Float64, and Int32 + Float32 a Float32 that rounds 2**24 + 1 away.
Source: measured of NVIDIA's compiler 4.8.1: an integer brings a float of its own width.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

N = 2**24 + 1


@cute.kernel
def kernel(out: cute.Tensor, narrow: cutlass.Int32, wide: cutlass.Int64, x: cutlass.Float32):
    out[0] = cutlass.Float64(narrow + x)
    out[1] = cutlass.Float64(wide + x)


@cute.jit
def host(out: cute.Tensor, narrow: cutlass.Int32, wide: cutlass.Int64, x: cutlass.Float32):
    kernel(out, narrow, wide, x).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((2,), -99.0, dtype=torch.float64, device="cuda")
    host(from_dlpack(out), N, N, 0.0)
    return {"out": out}


def expected():
    return {"out": np.array([np.float32(N), np.float64(N)], np.float64)}


if __name__ == "__main__":
    print(run())
