# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A variable that is Int32 before a dynamic loop and Float32 after its body is rejected at compile time.
Source: CuTe DSL, limitations (Control Flow); diagnostic TYPE_UNSTABLE_JOIN.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    acc = cutlass.Int32(0)
    for i in range(4):
        acc = acc + x[i] * 0.5
    out[0] = acc


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.ones(4, dtype=torch.float32, device="cuda")
    out = torch.zeros(1, dtype=torch.float32, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
