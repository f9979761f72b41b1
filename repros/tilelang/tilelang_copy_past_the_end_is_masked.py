# /// script
# requires-python = ">=3.11"
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""T.copy of a tile that reaches past the end of a tensor neither reads nor writes there.
Source: TileLang's documentation of T.copy: out-of-bounds elements are predicated.
"""

import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def copied(n, block):
    @T.prim_func
    def kernel(a: T.Tensor((n,), "float32"), out: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=32) as index:
            tile = T.alloc_shared((block,), "float32")
            T.copy(a[index * block], tile)
            T.copy(tile, out[index * block])

    return kernel


def run():
    a = torch.arange(100, dtype=torch.float32, device="cuda")
    out = torch.full((128,), -1.0, device="cuda")
    copied(100, 64)(a, out[:100])
    return {"out": out}


def expected():
    i = np.arange(128, dtype=np.float32)
    return {"out": np.where(i < 100, i, np.float32(-1))}


if __name__ == "__main__":
    print(run())
