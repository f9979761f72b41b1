# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Lanes that change a register after a shuffle do not change what others got from it.  Source: PTX ISA, shfl.sync."""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LANES = 32


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    x = lane * lane
    got = cute.arch.shuffle_sync(x, (lane + n) % LANES)
    if lane % 2 == 0:
        x = x + 1000
    again = cute.arch.shuffle_sync(x, (lane + n) % LANES)
    out[lane, 0] = got
    out[lane, 1] = again


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def run():
    out = torch.full((LANES, 2), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), 5)
    return {"out": out}


def expected():
    lane = (np.arange(LANES) + 5) % LANES
    x = lane**2
    return {"out": np.stack([x, np.where(lane % 2 == 0, x + 1000, x)], axis=1).astype(np.int32)}


if __name__ == "__main__":
    print(run())
