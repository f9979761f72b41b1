# /// script
# requires-python = ">=3.11"
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""T.Parallel over more elements than there are threads gives each element to one thread, in two dimensions too.
Source: TileLang's documentation of T.Parallel: the loops are mapped to the threads of the block.
"""

import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def added(rows, columns):
    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "int32"), out: T.Tensor((rows, columns), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i, j in T.Parallel(rows, columns):
                out[i, j] += x[i, j] + i * 100 + j

    return kernel


def run():
    x = torch.ones((12, 20), dtype=torch.int32, device="cuda")
    out = torch.zeros_like(x)
    added(12, 20)(x, out)
    return {"out": out}


def expected():
    i, j = np.indices((12, 20), dtype=np.int32)
    return {"out": 1 + i * 100 + j}


if __name__ == "__main__":
    print(run())
