# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A layout with more threads than elements gives an element to several threads, and an atomic counts it once.
Source: Gluon tutorial 02-layouts: a tensor smaller than its layout is broadcast over the threads that are left.
"""

import numpy as np
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(count, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, BLOCK, layout=layout)
    gl.atomic_add(count + i, 1)


def run():
    count = torch.zeros(16, dtype=torch.int32, device="cuda")
    kernel[(1,)](count, BLOCK=16, num_warps=4)
    return {"count": count}


def expected():
    return {"count": np.ones(16, np.int32)}


if __name__ == "__main__":
    print(run())
