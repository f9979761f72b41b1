# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A float32 that becomes an int8 goes through an int16, whose low 8 bits stay: 300 becomes 44, it does not saturate.
Source: PTX of Triton 3.9.0 (cvt.rzi.s16.f32). Triton's documentation leaves values out of range open.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.int8))


def run():
    x = torch.tensor([1.9, -1.9, 127.0, 300.0], device="cuda")
    out = torch.zeros(4, dtype=torch.int8, device="cuda")
    kernel[(1,)](x, out, BLOCK=4)
    return {"out": out}


def expected():
    return {"out": np.array([1, -1, 127, 44], np.int8)}


if __name__ == "__main__":
    print(run())
