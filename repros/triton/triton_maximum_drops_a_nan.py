# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""tl.maximum gives the other operand if one is NaN, with propagate_nan=ALL it gives NaN. tl.max drops NaN too.
Source: Triton's documentation of tl.maximum; IEEE 754-2019, maximumNumber and maximum.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.maximum(a, b))
    tl.store(out + BLOCK + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 2 * BLOCK + i, tl.max(a, 0) + i * 0.0)


def run():
    x = torch.tensor([float("nan"), 1.0, 2.0, float("nan")], device="cuda")
    y = torch.tensor([5.0, float("nan"), 1.0, float("nan")], device="cuda")
    out = torch.zeros((3, 4), device="cuda")
    kernel[(1,)](x, y, out, BLOCK=4)
    return {"out": out}


def expected():
    nan = np.uint32(0x7FFFFFFF).view(np.float32)  # PTX ISA, max: the canonical NaN
    return {"out": np.array([[5, 1, 2, nan], [nan, nan, 2, nan], [2, 2, 2, 2]], np.float32)}


if __name__ == "__main__":
    print(run())
