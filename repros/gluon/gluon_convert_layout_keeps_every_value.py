# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""gl.convert_layout moves values between threads and keeps each at its index.
Source: Gluon tutorial 02-layouts: a layout maps registers, lanes and warps to indices.
"""

import numpy as np
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x, out, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    rows_first: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    columns_first: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    i = gl.arange(0, ROWS, layout=gl.SliceLayout(1, rows_first))
    j = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, rows_first))
    value = gl.load(x + i[:, None] * COLUMNS + j[None, :])
    moved = gl.convert_layout(value, columns_first)
    i = gl.arange(0, ROWS, layout=gl.SliceLayout(1, columns_first))
    j = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, columns_first))
    gl.store(out + i[:, None] * COLUMNS + j[None, :], moved + i[:, None] * 1000)


def run():
    x = torch.arange(16 * 16, dtype=torch.int32, device="cuda")
    out = torch.zeros((16, 16), dtype=torch.int32, device="cuda")
    kernel[(1,)](x, out, ROWS=16, COLUMNS=16, num_warps=4)
    return {"out": out}


def expected():
    return {"out": np.arange(16 * 16, dtype=np.int32).reshape(16, 16) + 1000 * np.arange(16, dtype=np.int32)[:, None]}


if __name__ == "__main__":
    print(run())
