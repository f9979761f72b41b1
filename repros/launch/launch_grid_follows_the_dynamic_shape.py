# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { n = [1, 64, 65, 200] }
# ///
"""One compiled function takes tensors of any length: kernel and grid see the shape of the call.
Source: NVIDIA/cutlass issue 2794, where dynamic shapes arrived as 0.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 64


@cute.kernel
def kernel(x: cute.Tensor, seen: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    i = block * THREADS + thread
    if i < x.shape[0]:
        x[i] = i
    if i == 0:
        seen[0] = x.shape[0]
        seen[1] = blocks


@cute.jit
def host(x: cute.Tensor, seen: cute.Tensor):
    kernel(x, seen).launch(grid=(cute.ceil_div(x.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1))


def run(n):
    other = torch.zeros(7, dtype=torch.int32, device="cuda")
    x = torch.full((n,), -1, dtype=torch.int32, device="cuda")
    seen = torch.full((2,), -1, dtype=torch.int32, device="cuda")
    compiled = cute.compile(host, from_dlpack(other).mark_layout_dynamic(), from_dlpack(seen))
    compiled(from_dlpack(x).mark_layout_dynamic(), from_dlpack(seen))
    return {"x": x, "seen": seen}


def expected(n):
    return {"x": np.arange(n, dtype=np.int32), "seen": np.array([n, -(-n // THREADS)], np.int32)}


if __name__ == "__main__":
    print(run(n=65))
