# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { n = [1, 33, 64] }
# ///
"""elem_less(coordinate, shape) of an identity tensor, tiled as the data is, guards exactly the elements that exist.
Source: CuTe, predication.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

TILE = 32


@cute.kernel
def kernel(x: cute.Tensor, where: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = cute.local_tile(x, (TILE,), (block,))
    coordinates = cute.local_tile(where, (TILE,), (block,))
    if cute.elem_less(coordinates[t], x.shape):
        mine[t] = block * 1000 + t


@cute.jit
def host(x: cute.Tensor):
    grid = (cute.ceil_div(x.shape[0], TILE), 1, 1)
    kernel(x, cute.make_identity_tensor(x.shape)).launch(grid=grid, block=(TILE, 1, 1))


def run(n):
    memory = torch.full((96,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(memory[:n]).mark_layout_dynamic())
    return {"memory": memory}


def expected(n):
    i = np.arange(96, dtype=np.int32)
    return {"memory": np.where(i < n, i // TILE * 1000 + i % TILE, -1).astype(np.int32)}


if __name__ == "__main__":
    print(run(n=33))
