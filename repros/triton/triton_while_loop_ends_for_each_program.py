# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A while loop over a scalar runs as often as the program needs: programs do not wait for one another.
Source: Triton's documentation: a program is one flow of control.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out):
    n = tl.program_id(0) + 1
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    tl.store(out + tl.program_id(0), steps)


def run():
    out = torch.zeros(16, dtype=torch.int32, device="cuda")
    kernel[(16,)](out)
    return {"out": out}


def expected():
    return {"out": np.array([0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9, 9, 17, 17, 4], np.int32)}


if __name__ == "__main__":
    print(run())
