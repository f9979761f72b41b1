# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A function compiled once for a dynamic layout takes tensors of other shapes and row strides.
Source: CuTe DSL, dynamic layouts (mark_layout_dynamic); measured of NVIDIA's compiler 4.8.1.
"""

import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

SHAPES = [(3, 4), (1, 1), (5, 13), (8, 8)]
ROWS, COLUMNS = 8, 16


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    row, column = tid // COLUMNS, tid % COLUMNS
    if row < x.shape[0] and column < x.shape[1]:
        out[row, column] = x[row, column]


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(ROWS * COLUMNS, 1, 1))


def run():
    compiled, outputs = None, {}
    for rows, columns in SHAPES:
        large = torch.arange(ROWS * (columns + 3), dtype=torch.int32, device="cuda").reshape(ROWS, -1)
        x = from_dlpack(large[:rows, :columns]).mark_layout_dynamic(leading_dim=1)
        out = torch.full((ROWS, COLUMNS), -99, dtype=torch.int32, device="cuda")
        tensor = from_dlpack(out)
        compiled = compiled or cute.compile(host, x, tensor)
        compiled(x, tensor)
        outputs[f"out{rows}x{columns}"] = out
    return outputs


def expected():
    outputs = {}
    for rows, columns in SHAPES:
        out = np.full((ROWS, COLUMNS), -99, np.int32)
        out[:rows, :columns] = np.arange(ROWS * (columns + 3)).reshape(ROWS, -1)[:rows, :columns]
        outputs[f"out{rows}x{columns}"] = out
    return outputs


if __name__ == "__main__":
    print(run())
