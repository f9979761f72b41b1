# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A false predicate on an ordinary copy (CopyUniversalOp) skips it: the destination keeps its value.
Source: CuTe DSL, cute.copy.

The zero fill belongs to cp.async, not to `pred=`. Threads from `limit` on keep what `out` held before.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, ELEMENTS, LIMIT = 32, 4, 11


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    pred = cute.make_fragment_like(out[tid, None], cutlass.Boolean)
    pred.fill(tid < limit)
    # CHECK-PTX-NOT: cp.async
    cute.copy(atom, src[tid, None], out[tid, None], pred=pred)


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32):
    kernel(src, out, limit).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    src = torch.arange(1, THREADS * ELEMENTS + 1, dtype=torch.float32, device="cuda").reshape(THREADS, ELEMENTS)
    out = torch.full_like(src, -2.0)
    host(from_dlpack(src, assumed_align=16), from_dlpack(out, assumed_align=16), LIMIT)
    return {"out": out}


def expected():
    out = np.arange(1, THREADS * ELEMENTS + 1, dtype=np.float32).reshape(THREADS, ELEMENTS)
    out[LIMIT:] = -2.0
    return {"out": out}


if __name__ == "__main__":
    print(run())
