# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""The product of two int32 tensors wraps at 32 bits: offsets of large arrays need int64.
Source: Triton's documentation, semantics: type promotion; both operands are int32.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, n):
    rows = tl.arange(0, 4) * 65536
    tl.store(out + tl.arange(0, 4), (rows * n).to(tl.int64))
    tl.store(out + 4 + tl.arange(0, 4), rows.to(tl.int64) * n)


def run():
    out = torch.zeros((2, 4), dtype=torch.int64, device="cuda")
    kernel[(1,)](out, 32768)
    return {"out": out}


def expected():
    wide = np.arange(4, dtype=np.int64) * 65536 * 32768
    return {"out": np.stack([wide.astype(np.int32).astype(np.int64), wide])}


if __name__ == "__main__":
    print(run())
