# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A permuted view of shared memory is a transpose: it copies nothing, and any register layout may load it.
Source: Gluon's documentation of shared_memory_descriptor: permute, load, store.
"""
# CHECK-PTX: bar.sync

import numpy as np
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x, out, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    i = gl.arange(0, N, layout=gl.SliceLayout(1, layout))
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    place = i[:, None] * N + j[None, :]
    tile = gl.allocate_shared_memory(gl.int32, [N, N], shared)
    tile.store(gl.load(x + place))
    gl.store(out + place, tile.permute([1, 0]).load(layout))


def run():
    x = torch.arange(32 * 32, dtype=torch.int32, device="cuda")
    out = torch.zeros((32, 32), dtype=torch.int32, device="cuda")
    kernel[(1,)](x, out, N=32, num_warps=4)
    return {"out": out}


def expected():
    return {"out": np.ascontiguousarray(np.arange(32 * 32, dtype=np.int32).reshape(32, 32).T)}


if __name__ == "__main__":
    print(run())
