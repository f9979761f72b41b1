# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.debug_barrier() between a store and a load of one program lets the load see what other threads stored.
Source: Triton's documentation of tl.debug_barrier: it synchronises all threads in a block.
"""
# CHECK-PTX: bar.sync

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i * i)
    tl.debug_barrier()
    tl.store(out + i, tl.load(x + BLOCK - 1 - i))


def run():
    x, out = torch.zeros((2, 256), dtype=torch.int32, device="cuda")
    kernel[(1,)](x, out, BLOCK=256)
    return {"out": out}


def expected():
    return {"out": np.arange(255, -1, -1, dtype=np.int32) ** 2}


if __name__ == "__main__":
    print(run())
