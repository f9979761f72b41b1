# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A jit function may call itself where a static value ends it: each level is traced once, and nothing calls in PTX.
Source: Python; measured of NVIDIA's compiler 4.8.1, which inlines it too.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, DEPTH = 32, 4


@cute.jit
def tree_sum(x: cute.Tensor, first: cutlass.Int32, depth: cutlass.Constexpr):
    if cutlass.const_expr(depth == 0):
        total = x[first]
    else:
        half = 2 ** (depth - 1)
        total = tree_sum(x, first, depth - 1) + 2 * tree_sum(x, first + half, depth - 1)
    return total


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    # CHECK-PTX-NOT: call
    out[tid] = tree_sum(x, tid, DEPTH)


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    x = torch.arange(THREADS + 2**DEPTH, dtype=torch.int32, device="cuda")
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


def expected():
    weights = np.array([2 ** bin(i).count("1") for i in range(2**DEPTH)])
    x = np.arange(THREADS + 2**DEPTH)
    return {"out": np.array([weights @ x[t : t + 2**DEPTH] for t in range(THREADS)], np.int32)}


if __name__ == "__main__":
    print(run())
