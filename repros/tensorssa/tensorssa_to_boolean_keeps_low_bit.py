# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""TensorSSA.to(Boolean) of integers keeps the low bit: 2 becomes False.  Source: CuTe DSL 4.8.1, measured.

A comparison does not: `x != 0` is true of 2. Booleans are stored as bytes of 0 and 1.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [0, 1, 2, 3, -1, -2, 256, 257]


@cute.kernel
def kernel(x: cute.Tensor, converted: cute.Tensor, compared: cute.Tensor):
    value = x.load()
    converted.store(value.to(cutlass.Boolean).to(cutlass.Uint8))
    compared.store((value != 0).to(cutlass.Uint8))


@cute.jit
def host(x: cute.Tensor, converted: cute.Tensor, compared: cute.Tensor):
    kernel(x, converted, compared).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.int32, device="cuda")
    converted = torch.full((len(VALUES),), 99, dtype=torch.uint8, device="cuda")
    compared = torch.full((len(VALUES),), 99, dtype=torch.uint8, device="cuda")
    host(from_dlpack(x), from_dlpack(converted), from_dlpack(compared))
    return {"converted": converted, "compared": compared}


def expected():
    x = np.array(VALUES)
    return {"converted": (x & 1).astype(np.uint8), "compared": (x != 0).astype(np.uint8)}


if __name__ == "__main__":
    print(run())
