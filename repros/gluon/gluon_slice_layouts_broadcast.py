# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""Two vectors in slices of one layout broadcast to its shape: an outer sum needs no conversion.
Source: Gluon tutorial 02-layouts: SliceLayout is the parent layout without one dimension; expand_dims puts it back.
"""

import numpy as np
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(a, b, out, N: gl.constexpr):
    parent: gl.constexpr = gl.BlockedLayout([2, 2], [8, 4], [2, 2], [1, 0])
    i = gl.arange(0, N, layout=gl.SliceLayout(1, parent))
    j = gl.arange(0, N, layout=gl.SliceLayout(0, parent))
    total = gl.load(a + i)[:, None] + gl.load(b + j)[None, :]
    gl.store(out + i[:, None] * N + j[None, :], total)


def run():
    a = torch.arange(16, dtype=torch.int32, device="cuda")
    b = torch.arange(0, 1600, 100, dtype=torch.int32, device="cuda")
    out = torch.zeros((16, 16), dtype=torch.int32, device="cuda")
    kernel[(1,)](a, b, out, N=16, num_warps=4)
    return {"out": out}


def expected():
    i = np.arange(16, dtype=np.int32)
    return {"out": i[:, None] + 100 * i[None, :]}


if __name__ == "__main__":
    print(run())
