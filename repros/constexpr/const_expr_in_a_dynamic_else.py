# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { twice = [false, true] }
# ///
"""`if const_expr` inside the else of a dynamic `if` chooses at compile time, in that arm only.
Source: NVIDIA/cutlass issue 2781.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 8


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32, twice: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    x = cutlass.Int32(0)
    if t < n:
        x = t
    else:
        # CHECK-PTX(twice=False)-NOT: 777
        if cutlass.const_expr(twice):
            x = t + 777
        else:
            x = -t
    out[t] = x


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32, twice: cutlass.Constexpr):
    kernel(out, n, twice).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(twice):
    out = torch.full((THREADS,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), 3, twice)
    return {"out": out}


def expected(twice):
    t = np.arange(THREADS, dtype=np.int32)
    return {"out": np.where(t < 3, t, t + 777 if twice else -t).astype(np.int32)}


if __name__ == "__main__":
    print(run(twice=False))
