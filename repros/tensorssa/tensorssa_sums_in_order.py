# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""TensorSSA.reduce(ADD) adds one element after another, the first mode fastest, starting from init_val.
Source: CuTe DSL 4.8.1, measured.

Float32 loses a 1 that is added to 1e8, so each order of adding has its own result. `column` keeps mode 0.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [[1e8, 1.0, -1e8], [3.0, -1e8, 1.0], [1.0, 1e8, 5.0], [-1e8, 7.0, 1e8]]
START = 1.0


@cute.kernel
def kernel(x: cute.Tensor, whole: cute.Tensor, column: cute.Tensor):
    value = x.load()
    whole[0] = value.reduce(cute.ReductionOp.ADD, START, 0)
    column.store(value.reduce(cute.ReductionOp.ADD, START, (None, 1)))


@cute.jit
def host(x: cute.Tensor, whole: cute.Tensor, column: cute.Tensor):
    kernel(x, whole, column).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.float32, device="cuda")
    whole = torch.full((1,), -99.0, dtype=torch.float32, device="cuda")
    column = torch.full((4,), -99.0, dtype=torch.float32, device="cuda")
    host(from_dlpack(x), from_dlpack(whole), from_dlpack(column))
    return {"whole": whole, "column": column}


def added(values):
    total = np.float32(START)
    for value in values:
        total = np.float32(total + value)
    return total


def expected():
    x = np.array(VALUES, np.float32)
    return {"whole": np.array([added(x.T.ravel())]), "column": np.array([added(row) for row in x])}


if __name__ == "__main__":
    print(run())
