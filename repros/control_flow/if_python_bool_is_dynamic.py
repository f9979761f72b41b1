# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { flag = [true, false] }
# ///
"""A plain `if` traces both arms even over a Python bool; under `const_expr` only the arm taken is traced.
Source: CuTe DSL, control flow (If-Else Statements).

`traces` counts the arms that Python entered while the kernel was traced: plain, then const_expr.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

TRACED = []


@cute.kernel
def kernel(out: cute.Tensor, flag: cutlass.Constexpr):
    value = cutlass.Int32(0)
    if flag:
        TRACED.append("plain")
        value = cutlass.Int32(1)
    else:
        TRACED.append("plain")
        value = cutlass.Int32(2)
    out[0] = value
    if cutlass.const_expr(flag):
        TRACED.append("const_expr")
        out[1] = 10
    else:
        TRACED.append("const_expr")
        out[1] = 20


@cute.jit
def host(out: cute.Tensor, flag: cutlass.Constexpr):
    kernel(out, flag).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run(flag):
    TRACED.clear()
    out = torch.full((2,), -1, dtype=torch.int32, device="cuda")
    cute.compile(host, from_dlpack(out), flag)(from_dlpack(out))
    traces = torch.tensor([TRACED.count("plain"), TRACED.count("const_expr")], dtype=torch.int32)
    return {"out": out, "traces": traces}


def expected(flag):
    return {"out": np.array([1, 10] if flag else [2, 20], np.int32), "traces": np.array([2, 1], np.int32)}


if __name__ == "__main__":
    print(run(flag=True))
