# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""zipped_divide(a, (2, 4)) is ((in the tile), (which tile)), also where rows of a are not contiguous.
Source: CuTe, layout algebra, zipped_divide.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, COLUMNS, TILE = 6, 8, (2, 4)


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    tile, _, _ = cute.arch.block_idx()
    tiles = cute.zipped_divide(a, TILE)
    out[tile, i] = tiles[(None, tile)][i]


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    tiles = cute.zipped_divide(a, TILE)
    kernel(a, out).launch(grid=(cute.size(tiles, mode=[1]), 1, 1), block=(cute.size(tiles, mode=[0]), 1, 1))


def run():
    a = torch.arange(ROWS * COLUMNS * 2, dtype=torch.int32, device="cuda").reshape(ROWS, COLUMNS * 2)[:, ::2]
    out = torch.full((ROWS * COLUMNS // 8, 8), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(a), from_dlpack(out))
    return {"out": out}


def expected():
    a = np.arange(ROWS * COLUMNS * 2, dtype=np.int32).reshape(ROWS, COLUMNS * 2)[:, ::2]
    tiles = [a[r : r + 2, c : c + 4].T.reshape(-1) for c in range(0, COLUMNS, 4) for r in range(0, ROWS, 2)]
    return {"out": np.stack(tiles)}


if __name__ == "__main__":
    print(run())
