# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""gl.sum and gl.max over a dimension give a tensor in the slice of the layout without it, also across warps.
Source: Gluon tutorial 02-layouts: the result of a reduction has SliceLayout(axis, parent).
"""

import numpy as np
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x, out, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [1, 4], [1, 0])
    i = gl.arange(0, N, layout=gl.SliceLayout(1, layout))
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    value = gl.load(x + i[:, None] * N + j[None, :])
    gl.store(out + i, gl.sum(value, axis=1))
    gl.store(out + N + j, gl.max(value, axis=0))


def values():
    return (np.arange(64 * 64, dtype=np.int32) * 7919 % 1009).astype(np.int32).reshape(64, 64)


def run():
    out = torch.zeros((2, 64), dtype=torch.int32, device="cuda")
    kernel[(1,)](torch.from_numpy(values()).to("cuda"), out, N=64, num_warps=4)
    return {"out": out}


def expected():
    x = values()
    return {"out": np.stack([x.sum(1), x.max(0)]).astype(np.int32)}


if __name__ == "__main__":
    print(run())
