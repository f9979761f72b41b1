# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "race"
# ///
"""A load does not see what the same program stored to other elements unless a barrier is between: threads share memory.
Source: Triton's documentation of tl.debug_barrier; PTX ISA, memory consistency model: data races.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i * i)
    tl.store(out + i, tl.load(x + BLOCK - 1 - i))


def run():
    x, out = torch.zeros((2, 256), dtype=torch.int32, device="cuda")
    kernel[(1,)](x, out, BLOCK=256)
    return {"out": out}


if __name__ == "__main__":
    print(run())
