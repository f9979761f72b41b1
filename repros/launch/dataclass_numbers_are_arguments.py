# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Python numbers in a dataclass or tuple passed to a jit function are arguments: a compiled function takes new ones.
Source: CuTe DSL documentation, Struct-like JIT Arguments (a dataclass is a pytree container).
"""

from dataclasses import dataclass

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@dataclass(frozen=True)
class Scale:
    factor: float
    offset: int


@cute.kernel
def kernel(out: cute.Tensor, scale: Scale, at: tuple):
    out[at[0]] = scale.factor * 10 + scale.offset + at[1]


@cute.jit
def host(out: cute.Tensor, scale: Scale, at: tuple):
    kernel(out, scale, at).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((4,), -99, dtype=torch.float32, device="cuda")
    tensor = from_dlpack(out)
    compiled = cute.compile(host, tensor, Scale(0.5, 1), (0, 100))
    compiled(tensor, Scale(0.5, 1), (0, 100))
    compiled(tensor, Scale(2.25, -7), (2, 1000))
    return {"out": out}


def expected():
    return {"out": np.array([106, -99, 1015.5, -99], np.float32)}


if __name__ == "__main__":
    print(run())
