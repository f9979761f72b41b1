# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A TensorSSA of Boolean is stored as a byte of 0 or 1 an element, also after `+`, which gives True + True = True.
Source: CuTe DSL 4.8.1, measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

COUNT = 8


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    value = x.load()
    stored = cute.make_tensor(cute.recast_ptr(out.iterator, dtype=cutlass.Boolean), out.layout)
    stored[None, 0].store(value > 3)
    stored[None, 1].store((value > 3) + (value > 1))
    stored[None, 2].store(((value > 1) & (value < 6)) ^ (value == 4))


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.arange(COUNT, dtype=torch.int32, device="cuda")
    out = torch.full((COUNT, 3), 99, dtype=torch.uint8, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


def expected():
    x = np.arange(COUNT)
    columns = [x > 3, (x > 3) | (x > 1), ((x > 1) & (x < 6)) ^ (x == 4)]
    return {"out": np.stack(columns, axis=1).astype(np.uint8)}


if __name__ == "__main__":
    print(run())
