# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""On Int32 `//` floors like Python, but `%` truncates like C: the two are not a pair.
Source: CuTe DSL 4.8.1, measured; PTX ISA, rem.

So -7 // 2 is -4 and -7 % 2 is -1, and (a // b) * b + a % b is not a. Python ints, folded while tracing, keep Python's
rules.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5), (-1, 100)]


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, quotient: cute.Tensor, remainder: cute.Tensor, static: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    quotient[tid] = a[tid] // b[tid]
    remainder[tid] = a[tid] % b[tid]
    if tid == 0:
        static[0] = -7 // 2
        static[1] = -7 % 2


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, quotient: cute.Tensor, remainder: cute.Tensor, static: cute.Tensor):
    kernel(a, b, quotient, remainder, static).launch(grid=(1, 1, 1), block=(len(PAIRS), 1, 1))


def run():
    a, b = torch.tensor(PAIRS, dtype=torch.int32, device="cuda").T.contiguous()
    quotient, remainder = torch.full_like(a, -99), torch.full_like(a, -99)
    static = torch.full((2,), -99, dtype=torch.int32, device="cuda")
    host(*[from_dlpack(tensor) for tensor in (a, b, quotient, remainder, static)])
    return {"quotient": quotient, "remainder": remainder, "static": static}


def expected():
    a, b = np.array(PAIRS, np.int32).T
    return {"quotient": np.floor_divide(a, b), "remainder": np.fmod(a, b), "static": np.array([-4, 1], np.int32)}


if __name__ == "__main__":
    print(run())
