# /// script
# requires-python = ">=3.11"
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""T.gemm of float16 with a float32 fragment gives the exact product of small integers, also transposed.
Source: TileLang's documentation of T.gemm: transpose_B; sums of integers below 2**24 need no rounding.
"""

import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def product(n):
    @T.prim_func
    def kernel(A: T.Tensor((n, n), "float16"), B: T.Tensor((n, n), "float16"), C: T.Tensor((n, n), "float32")):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((n, n), "float16")
            b = T.alloc_shared((n, n), "float16")
            c = T.alloc_fragment((n, n), "float32")
            T.clear(c)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    return kernel


def inputs():
    i = np.arange(64 * 64).reshape(64, 64)
    return i * 7919 % 13 - 6, i * 104729 % 11 - 5


def run():
    a, b = (torch.from_numpy(each.astype(np.float16)).to("cuda") for each in inputs())
    c = torch.zeros((64, 64), device="cuda")
    product(64)(a, b, c)
    return {"c": c[:8]}


def expected():
    a, b = inputs()
    return {"c": (a @ b.T).astype(np.float32)[:8]}


if __name__ == "__main__":
    print(run())
