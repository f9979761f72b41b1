# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { bits = [8, 16, 32, 64] }
# ///
"""`pointer + n` moves by n elements, not bytes, for a Python int, an Int32 and an Int64 alike.
Source: CuTe DSL, Pointer.

`out` holds the distance in bytes between `p + 3` and `p`, three spellings of 3.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

DTYPES = {8: torch.int8, 16: torch.float16, 32: torch.float32, 64: torch.int64}


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, m: cutlass.Int64):
    p = src.iterator
    out[0] = (p + 3).toint() - p.toint()
    out[1] = (p + n).toint() - p.toint()
    out[2] = (p + m).toint() - p.toint()


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, m: cutlass.Int64):
    kernel(src, out, n, m).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run(bits):
    src = torch.zeros(8, dtype=DTYPES[bits], device="cuda")
    out = torch.full((3,), -1, dtype=torch.int64, device="cuda")
    host(from_dlpack(src), from_dlpack(out), 3, 3)
    return {"out": out}


def expected(bits):
    return {"out": np.full(3, 3 * bits // 8, np.int64)}


if __name__ == "__main__":
    print(run(bits=8))
