# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A load gives `other` where its mask is false, and touches no memory there.
Source: Triton's documentation of tl.load. The address of a masked element may be outside of every allocation.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * 1000000, mask=i < n, other=-1.0))


def run():
    x = torch.full((1,), 5.0, device="cuda")
    out = torch.zeros(32, device="cuda")
    kernel[(1,)](x, out, 1, BLOCK=32)
    return {"out": out}


def expected():
    return {"out": np.array([5.0] + [-1.0] * 31, np.float32)}


if __name__ == "__main__":
    print(run())
