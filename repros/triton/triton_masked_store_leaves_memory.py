# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.store writes nothing where its mask is false, also in the middle of a vector.
Source: Triton's documentation of tl.store.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i * 10, mask=(i % 3 != 0) & (i < 13))


def run():
    out = torch.full((16,), -1, dtype=torch.int32, device="cuda")
    kernel[(1,)](out, BLOCK=16)
    return {"out": out}


def expected():
    i = np.arange(16, dtype=np.int32)
    return {"out": np.where((i % 3 != 0) & (i < 13), i * 10, np.int32(-1))}


if __name__ == "__main__":
    print(run())
