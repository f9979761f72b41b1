# /// script
# requires-python = ">=3.11"
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""T.atomic_add of all threads of all blocks to one element loses none of them.
Source: TileLang's documentation of T.atomic_add; sums of integers below 2**24 need no rounding.
"""

import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def counted(blocks):
    @T.prim_func
    def kernel(x: T.Tensor((blocks * 64,), "float32"), total: T.Tensor((1,), "float32")):
        with T.Kernel(blocks, threads=64) as index:
            for i in T.Parallel(64):
                T.atomic_add(total[0], x[index * 64 + i])

    return kernel


def run():
    x = torch.arange(4 * 64, dtype=torch.float32, device="cuda")
    total = torch.zeros(1, device="cuda")
    counted(4)(x, total)
    return {"total": total}


def expected():
    return {"total": np.array([256 * 255 // 2], np.float32)}


if __name__ == "__main__":
    print(run())
