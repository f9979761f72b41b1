# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`pointer.align(64)` rounds the address up to the next multiple of 64: it is arithmetic, not an assumption.
Source: CuTe DSL, Pointer.align.

`out` holds how far `(base + n).align(64)` lies above a 64-byte aligned base, in bytes, for n Float32 elements.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

OFFSETS = [0, 1, 15, 16, 17, 32]


@cute.kernel
def kernel(src: cute.Tensor, offsets: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    base = src.iterator.align(64)
    out[tid] = (base + offsets[tid]).align(64).toint() - base.toint()


@cute.jit
def host(src: cute.Tensor, offsets: cute.Tensor, out: cute.Tensor):
    kernel(src, offsets, out).launch(grid=(1, 1, 1), block=(len(OFFSETS), 1, 1))


def run():
    src = torch.zeros(64, dtype=torch.float32, device="cuda")
    offsets = torch.tensor(OFFSETS, dtype=torch.int32, device="cuda")
    out = torch.full((len(OFFSETS),), -1, dtype=torch.int64, device="cuda")
    host(from_dlpack(src), from_dlpack(offsets), from_dlpack(out))
    return {"out": out}


def expected():
    return {"out": np.ceil(np.array(OFFSETS) * 4 / 64).astype(np.int64) * 64}


if __name__ == "__main__":
    print(run())
