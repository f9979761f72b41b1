# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Integer division and remainder of tensors truncate toward zero, as in C; of Python numbers they floor.
Source: Triton's documentation, semantics: differences with NumPy.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.store(out + i, x // y)
    tl.store(out + BLOCK + i, x % y)
    tl.store(out + 2 * BLOCK + i, i * 0 + (-7 // BLOCK))


def run():
    a = torch.tensor([7, -7, 7, -7], dtype=torch.int32, device="cuda")
    b = torch.tensor([2, 2, -2, -2], dtype=torch.int32, device="cuda")
    out = torch.zeros((3, 4), dtype=torch.int32, device="cuda")
    kernel[(1,)](a, b, out, BLOCK=4)
    return {"out": out}


def expected():
    return {"out": np.array([[3, -3, -3, 3], [1, -1, 1, -1], [-2, -2, -2, -2]], np.int32)}


if __name__ == "__main__":
    print(run())
