# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A pointer takes negative offsets: `p - 2`, `p + (-2)` and a negative run-time Int32 read the same element.
Source: CuTe DSL, Pointer.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

SIZE, MIDDLE = 16, 8


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    p = src.iterator + MIDDLE
    out[0] = (p - 2).load()
    out[1] = (p + (-2)).load()
    out[2] = (p + n).load()
    out[3] = (p + (-n)).load()
    out[4] = (p - n).load()
    out[5] = p[-1]


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    kernel(src, out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    src = torch.arange(SIZE, dtype=torch.float32, device="cuda")
    out = torch.full((6,), -1.0, dtype=torch.float32, device="cuda")
    host(from_dlpack(src), from_dlpack(out), -2)
    return {"out": out}


def expected():
    offsets = np.array([-2, -2, -2, 2, 2, -1])
    return {"out": (MIDDLE + offsets).astype(np.float32)}


if __name__ == "__main__":
    print(run())
