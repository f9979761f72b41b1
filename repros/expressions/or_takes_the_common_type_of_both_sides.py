# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`a or b` of traced numbers has the type an operator would give them: an Int8 `or` 300 is an Int32, and 300 stays 300.
Source: NVIDIA's compiler, measured. Python's `or` gives one of its operands as it is.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [0, 5, -3]


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    narrow, unsigned = x[tid].to(cutlass.Int8), x[tid].to(cutlass.Uint16)
    out[tid, 0] = narrow or 300
    out[tid, 1] = unsigned or -5
    out[tid, 2] = narrow and -300
    out[tid, 3] = cutlass.Int64(0) or x[tid]


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(len(VALUES), 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.int32, device="cuda")
    out = torch.full((len(VALUES), 4), 99, dtype=torch.int64, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


def expected():
    rows = [[x or 300, x % 65536 or -5, x and -300, x] for x in VALUES]
    return {"out": np.array(rows, np.int64)}


if __name__ == "__main__":
    print(run())
