# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""An atomic operation has the type of its value, not of the memory: a Python -1 adds 32 bits to an Int64.
Source: PTX ISA, atom.add; NVIDIA's compiler, measured.

A Python integer is an Int32 among traced values: the low half of the Int64 wraps, and no carry reaches the other.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

START = 1 << 32


@cute.kernel
def kernel(plain: cute.Tensor, converted: cute.Tensor):
    cute.arch.atomic_add(plain.iterator, -1)
    cute.arch.atomic_add(converted.iterator, cutlass.Int64(-1))


@cute.jit
def host(plain: cute.Tensor, converted: cute.Tensor):
    kernel(plain, converted).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    plain, converted = (torch.tensor([START], dtype=torch.int64, device="cuda") for _ in range(2))
    host(from_dlpack(plain), from_dlpack(converted))
    return {"plain": plain, "converted": converted}


def expected():
    return {"plain": np.array([START + (1 << 32) - 1]), "converted": np.array([START - 1])}


if __name__ == "__main__":
    print(run())
