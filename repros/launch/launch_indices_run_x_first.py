# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Blocks and threads are counted x first, then y, then z; lane and warp follow that count.
Source: PTX ISA, %tid, %ctaid, %laneid.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

GRID, BLOCK = (2, 3, 2), (8, 3, 4)


@cute.kernel
def kernel(out: cute.Tensor):
    x, y, z = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    nx, ny, nz = cute.arch.block_dim()
    gx, gy, _ = cute.arch.grid_dim()
    thread = (z * ny + y) * nx + x
    place = ((bz * gy + by) * gx + bx) * (nx * ny * nz) + thread
    out[place, 0] = thread - (cute.arch.warp_idx() * 32 + cute.arch.lane_idx())
    out[place, 1] = x + 10 * y + 100 * z
    out[place, 2] = bx + 10 * by + 100 * bz


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=GRID, block=BLOCK)


def run():
    out = torch.full((12 * 96, 3), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    bz, by, bx, z, y, x = np.indices((GRID[2], GRID[1], GRID[0], BLOCK[2], BLOCK[1], BLOCK[0])).reshape(6, -1)
    return {"out": np.stack([0 * x, x + 10 * y + 100 * z, bx + 10 * by + 100 * bz], axis=1).astype(np.int32)}


if __name__ == "__main__":
    print(run())
