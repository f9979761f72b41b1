# /// script
# requires-python = ">=3.11"
# dependencies = ["triton>=3.9", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""An async copy of Ampere is in shared memory after the wait for its group, and another layout may load it.
Source: Gluon tutorial 03-async-copy: commit_group, wait_group(0); PTX ISA, cp.async.
"""
# CHECK-PTX: cp.async.c{{[ag]}}.shared.global
# CHECK-PTX: cp.async.wait_group

import numpy as np
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def kernel(x, out, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    i = gl.arange(0, BLOCK, layout=layout)
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK], shared)
    async_copy.async_load(tile, x + i)
    async_copy.commit_group()
    async_copy.wait_group(0)
    other: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    gl.store(out + gl.arange(0, BLOCK, layout=other), tile.load(other) * 2)


def run():
    x = torch.arange(256, dtype=torch.float32, device="cuda")
    out = torch.zeros(256, device="cuda")
    kernel[(1,)](x, out, BLOCK=256, num_warps=4)
    return {"out": out}


def expected():
    return {"out": 2 * np.arange(256, dtype=np.float32)}


if __name__ == "__main__":
    print(run())
