# /// script
# requires-python = ">=3.11"
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""T.reduce_sum with clear=False adds to the destination, with clear=True it begins at zero.
Source: TileLang's documentation of T.reduce_sum: clear.
"""

import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def sums(rows, columns, clear):
    @T.prim_func
    def kernel(x: T.Tensor((rows, columns), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64) as _:
            tile = T.alloc_fragment((rows, columns), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(x, tile)
            T.fill(total, 1000)
            T.reduce_sum(tile, total, dim=1, clear=clear)
            T.copy(total, out)

    return kernel


def run():
    x = torch.arange(16 * 32, dtype=torch.float32, device="cuda").reshape(16, 32)
    out = torch.zeros((2, 16), device="cuda")
    sums(16, 32, True)(x, out[0])
    sums(16, 32, False)(x, out[1])
    return {"out": out}


def expected():
    total = np.arange(16 * 32, dtype=np.float32).reshape(16, 32).sum(1)
    return {"out": np.stack([total, total + 1000])}


if __name__ == "__main__":
    print(run())
