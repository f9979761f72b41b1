# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { layout = ["row", "column"] }
# ///
"""A tensor indexed by one number counts its leftmost mode fastest, whatever its strides are.
Source: CuTe, coordinates: colexicographical order.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, COLUMNS = 3, 5


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    row, column = cute.idx2crd(i, a.shape)
    out[i, 0] = a[i]
    out[i, 1] = row
    out[i, 2] = column
    out[i, 3] = cute.crd2idx((row, column), cute.make_layout(a.shape))


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(ROWS * COLUMNS, 1, 1))


def run(layout):
    a = torch.arange(ROWS * COLUMNS, dtype=torch.int32, device="cuda").reshape(ROWS, COLUMNS)
    a = a.t().contiguous().t() if layout == "column" else a
    out = torch.full((ROWS * COLUMNS, 4), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(a), from_dlpack(out))
    return {"out": out}


def expected(layout):
    a = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    i = np.arange(ROWS * COLUMNS)
    return {"out": np.stack([a[i % ROWS, i // ROWS], i % ROWS, i // ROWS, i], axis=1).astype(np.int32)}


if __name__ == "__main__":
    print(run(layout="row"))
