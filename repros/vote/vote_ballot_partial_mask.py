# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A ballot inside a branch with the mask of its lanes counts those lanes only; the other bits are 0.
Source: PTX ISA, vote.sync (membermask).

Every lane votes yes. The lower half votes under mask 0x0000FFFF, the upper half under 0xFFFF0000, each in its own
arm.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LANES = 32


@cute.kernel
def kernel(out: cute.Tensor, limit: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    yes = lane < limit
    if lane < 16:
        out[lane] = cute.arch.vote_ballot_sync(yes, mask=0x0000FFFF)
    else:
        out[lane] = cute.arch.vote_ballot_sync(yes, mask=0xFFFF0000)


@cute.jit
def host(out: cute.Tensor, limit: cutlass.Int32):
    kernel(out, limit).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def run():
    out = torch.full((LANES,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), LANES)
    return {"out": out}


def expected():
    out = np.where(np.arange(LANES) < 16, 0x0000FFFF, 0xFFFF0000)
    return {"out": out.astype(np.uint32).view(np.int32)}


if __name__ == "__main__":
    print(run())
