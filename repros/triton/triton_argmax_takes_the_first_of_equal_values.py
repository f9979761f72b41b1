# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.argmax and tl.argmin give the smallest index of equal values.
Source: Triton's documentation of tl.argmax: tie_break_left, which is True by default.
"""

import numpy as np
import torch
import triton
import triton.language as tl

X = np.array([1, 7, 3, 7, -2, 7, -2, 0], np.int32)


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.argmax(v, 0))
    tl.store(out + 1, tl.argmin(v, 0))


def run():
    out = torch.zeros(2, dtype=torch.int32, device="cuda")
    kernel[(1,)](torch.from_numpy(X).to("cuda"), out, BLOCK=8)
    return {"out": out}


def expected():
    return {"out": np.array([X.argmax(), X.argmin()], np.int32)}


if __name__ == "__main__":
    print(run())
