# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""The remainder of floats truncates as fmod does in C: it has the sign of the dividend.
Source: Triton's documentation, semantics: differences with NumPy.
"""

import numpy as np
import torch
import triton
import triton.language as tl

A = np.array([5.5, -5.5, 5.5, -5.5], np.float32)
B = np.array([2.0, 2.0, -2.0, -2.0], np.float32)


@triton.jit
def kernel(a, b, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(a + i) % tl.load(b + i))


def run():
    out = torch.zeros(4, device="cuda")
    kernel[(1,)](torch.from_numpy(A).to("cuda"), torch.from_numpy(B).to("cuda"), out, BLOCK=4)
    return {"out": out}


def expected():
    return {"out": np.fmod(A, B)}


if __name__ == "__main__":
    print(run())
