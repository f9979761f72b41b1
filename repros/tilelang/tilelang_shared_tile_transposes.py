# /// script
# requires-python = ">=3.11"
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""A tile in shared memory that one loop writes and another reads by columns is complete: TileLang adds the barrier.
Source: TileLang's documentation: barriers between writes and reads of shared memory are inserted by the compiler.
"""
# CHECK-PTX: bar.sync

import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def transposed(n):
    @T.prim_func
    def kernel(x: T.Tensor((n, n), "int32"), out: T.Tensor((n, n), "int32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_shared((n, n), "int32")
            for i, j in T.Parallel(n, n):
                tile[i, j] = x[i, j]
            for i, j in T.Parallel(n, n):
                out[i, j] = tile[j, i]

    return kernel


def run():
    x = torch.arange(16 * 16, dtype=torch.int32, device="cuda").reshape(16, 16)
    out = torch.zeros_like(x)
    transposed(16)(x, out)
    return {"out": out}


def expected():
    return {"out": np.ascontiguousarray(np.arange(16 * 16, dtype=np.int32).reshape(16, 16).T)}


if __name__ == "__main__":
    print(run())
