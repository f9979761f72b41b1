# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""TensorSSA operands are matched from the first mode: (4, 3) + (4,) adds to every column, where numpy would refuse.
Source: CuTe DSL 4.8.1, measured.

Missing modes count as 1 and extents of 1 repeat, so (4,) and (4, 1) act alike and (1, 3) repeats over the rows.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, per_row: cute.Tensor, per_column: cute.Tensor, out: cute.Tensor):
    rows = x.load() + per_row.load()
    out[None, None, 0].store(rows)
    out[None, None, 1].store(rows * per_column.load())
    out[None, None, 2].store(per_row.load().reshape((4, 1)) - per_column.load())


@cute.jit
def host(x: cute.Tensor, per_row: cute.Tensor, per_column: cute.Tensor, out: cute.Tensor):
    kernel(x, per_row, per_column, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def inputs():
    return (np.arange(12).reshape(4, 3), np.array([100, 200, 300, 400]), np.array([[1, 10, 1000]]))


def run():
    tensors = [torch.tensor(value.tolist(), dtype=torch.int32, device="cuda") for value in inputs()]
    out = torch.full((4, 3, 3), -99, dtype=torch.int32, device="cuda")
    host(*map(from_dlpack, tensors), from_dlpack(out))
    return {"out": out}


def expected():
    x, per_row, per_column = inputs()
    rows = x + per_row[:, None]
    return {"out": np.stack([rows, rows * per_column, per_row[:, None] - per_column], axis=2).astype(np.int32)}


if __name__ == "__main__":
    print(run())
