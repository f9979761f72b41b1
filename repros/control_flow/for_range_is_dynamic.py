# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`range` is a run-time loop even over Python ints: its body is traced once and i is an Int32.
Source: CuTe DSL, control flow (For Loops).

`range_constexpr` runs in Python instead: traced once a trip, and i is an int. `traces` counts each, as Python sees it
while the kernel is traced.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

TRIPS = 1000
TRACED = []


@cute.kernel
def kernel(out: cute.Tensor):
    acc = cutlass.Int32(1)
    # CHECK-PTX: bra
    for i in range(TRIPS):
        TRACED.append(type(i).__name__)
        acc = acc * 3 + i
    out[0] = acc
    for i in cutlass.range_constexpr(4):
        TRACED.append(type(i).__name__)
        out[1 + i] = i


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    TRACED.clear()
    out = torch.full((5,), -1, dtype=torch.int32, device="cuda")
    cute.compile(host, from_dlpack(out))(from_dlpack(out))
    traces = torch.tensor([TRACED.count("Int32"), TRACED.count("int")], dtype=torch.int32)
    return {"out": out, "traces": traces}


def expected():
    acc = 1
    for i in range(TRIPS):
        acc = (acc * 3 + i) % 2**32
    acc = np.uint32(acc).view(np.int32)
    return {"out": np.array([acc, 0, 1, 2, 3], np.int32), "traces": np.array([1, 4], np.int32)}


if __name__ == "__main__":
    print(run())
