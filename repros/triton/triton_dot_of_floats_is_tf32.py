# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""tl.dot of float32 rounds its operands to TF32: 1 + 2**-11 counts as 1. With input_precision="ieee" it is exact.
Source: Triton's documentation of tl.dot (input_precision, default tf32).
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, out, N: tl.constexpr):
    i = tl.arange(0, N)
    place = i[:, None] * N + i[None, :]
    x, y = tl.load(a + place), tl.load(b + place)
    tl.store(out + place, tl.dot(x, y))
    tl.store(out + N * N + place, tl.dot(x, y, input_precision="ieee"))


def run():
    a = torch.full((16, 16), 1 + 2**-11 - 2**-20, device="cuda")
    b = torch.eye(16, device="cuda")
    out = torch.zeros((2, 16, 16), device="cuda")
    kernel[(1,)](a, b, out, N=16)
    return {"out": out}


def expected():
    exact = np.full((16, 16), 1 + 2**-11 - 2**-20, np.float32)
    return {"out": np.stack([np.ones((16, 16), np.float32), exact])}


if __name__ == "__main__":
    print(run())
