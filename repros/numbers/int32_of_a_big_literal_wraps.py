# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Int32 of a Python integer past 32 bits keeps its low 32 bits, as an argument and in the kernel.
Source: measured of NVIDIA's compiler 4.8.1, which warns of it: TYPE_INT_LITERAL_OUT_OF_RANGE.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

BIG = 3 * 2**40 + 2**31 + 5


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    out[0] = n
    out[1] = cutlass.Int32(BIG)
    out[2] = cutlass.Int32(-(2**40))


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((3,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), BIG)
    return {"out": out}


def expected():
    return {"out": np.array([BIG, BIG, -(2**40)], np.int64).astype(np.int32)}


if __name__ == "__main__":
    print(run())
