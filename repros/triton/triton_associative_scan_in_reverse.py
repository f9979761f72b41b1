# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.associative_scan with reverse=True gives at each place the sum from there to the end.
Source: Triton's documentation of tl.associative_scan and tl.cumsum.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.associative_scan(v, 0, plus))
    tl.store(out + BLOCK + i, tl.associative_scan(v, 0, plus, reverse=True))
    tl.store(out + 2 * BLOCK + i, tl.cumsum(v, 0, reverse=True))


def run():
    x = torch.arange(1, 65, dtype=torch.int32, device="cuda")
    out = torch.zeros((3, 64), dtype=torch.int32, device="cuda")
    kernel[(1,)](x, out, BLOCK=64)
    return {"out": out}


def expected():
    x = np.arange(1, 65, dtype=np.int32)
    back = np.cumsum(x[::-1])[::-1]
    return {"out": np.stack([np.cumsum(x), back, back]).astype(np.int32)}


if __name__ == "__main__":
    print(run())
