# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Int32 + Uint32 is a Uint32: -1 + Uint32(0) is 4294967295 as a Float64, and larger than 0.
Source: measured of NVIDIA's compiler 4.8.1: the wider wins, and of two signs at one width the unsigned.

With an Int64 the Uint32 is the narrower type, and -1 stays -1.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32, u: cutlass.Uint32):
    out[0] = cutlass.Float64(n + u)
    out[1] = cutlass.Float64(cutlass.Int32(n + u > 0))
    out[2] = cutlass.Float64(n.to(cutlass.Int64) + u)


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32, u: cutlass.Uint32):
    kernel(out, n, u).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((3,), -99.0, dtype=torch.float64, device="cuda")
    host(from_dlpack(out), -1, 0)
    return {"out": out}


def expected():
    wrapped = np.array([-1], np.int32).view(np.uint32) + np.uint32(0)
    return {"out": np.array([wrapped[0], wrapped[0] > 0, -1], np.float64)}


if __name__ == "__main__":
    print(run())
