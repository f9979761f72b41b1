# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.sum of int8 is an int32: it does not wrap.
Source: Triton's documentation of tl.sum (integers below 32 bits are upcast to int32).
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x + tl.arange(0, BLOCK)), 0)
    tl.static_assert(total.dtype == tl.int32)
    tl.store(out, total)


def run():
    x = torch.full((64,), 127, dtype=torch.int8, device="cuda")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    kernel[(1,)](x, out, BLOCK=64)
    return {"out": out}


def expected():
    return {"out": np.array([64 * 127], np.int32)}


if __name__ == "__main__":
    print(run())
