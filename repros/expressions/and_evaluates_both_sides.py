# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`and` and `or` over dynamic values do not short-circuit: the right side runs whatever the left side is.
Source: CuTe DSL 4.8.1, measured.

The left sides decide both results, yet each right side runs: `calls` counts it, for `and` then `or`. Static values do
short-circuit: `False and f()` never traces f.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.jit
def counted(calls: cute.Tensor, i: cutlass.Constexpr, value: cutlass.Boolean):
    calls[i] = calls[i] + 1
    return value


@cute.kernel
def kernel(calls: cute.Tensor, result: cute.Tensor, n: cutlass.Int32):
    both = n > 3 and counted(calls, 0, n > 0)
    either = n > 0 or counted(calls, 1, n > 3)
    if cutlass.const_expr(False and counted(calls, 2, n > 0)):
        either = n > 3
    result[0] = cutlass.Int32(both)
    result[1] = cutlass.Int32(either)


@cute.jit
def host(calls: cute.Tensor, result: cute.Tensor, n: cutlass.Int32):
    kernel(calls, result, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    calls = torch.zeros(3, dtype=torch.int32, device="cuda")
    result = torch.full((2,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(calls), from_dlpack(result), 2)
    return {"calls": calls, "result": result}


def expected():
    return {"calls": np.array([1, 1, 0], np.int32), "result": np.array([0, 1], np.int32)}


if __name__ == "__main__":
    print(run())
