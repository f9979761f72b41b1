# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { predicate = ["static", "runtime"] }
# ///
"""A cp.async with a false predicate does not read its source: even a null pointer is safe.
Source: PTX ISA, cp.async.

With src-size 0 no byte of the source is copied, so none is read. The predicate is false statically, or at run time.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS, ELEMENTS = 32, 4


@cute.kernel
def kernel(out: cute.Tensor, limit: cutlass.Int32, static: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, ELEMENTS), stride=(ELEMENTS, 1)), 16)
    mine = tile[tid, None]
    mine.fill(-1.0)
    cute.arch.sync_threads()

    null = cute.make_ptr(cutlass.Float32, 0, cute.AddressSpace.gmem, assumed_align=16)
    nothing = cute.make_tensor(null, cute.make_layout(ELEMENTS))
    # CHECK-PTX: cp.async.cg.shared.global
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), cutlass.Float32, num_bits_per_copy=128
    )
    pred = cute.make_fragment_like(mine, cutlass.Boolean)
    if cutlass.const_expr(static):
        pred.fill(False)
    else:
        pred.fill(tid < limit)
    cute.copy(atom, nothing, mine, pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(ELEMENTS):
        out[tid, i] = mine[i]


@cute.jit
def host(out: cute.Tensor, limit: cutlass.Int32, static: cutlass.Constexpr):
    kernel(out, limit, static).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(predicate):
    out = torch.full((THREADS, ELEMENTS), -2.0, dtype=torch.float32, device="cuda")
    compiled = cute.compile(host, from_dlpack(out), 0, predicate == "static")
    compiled(from_dlpack(out), 0)
    return {"out": out}


def expected(predicate):
    return {"out": np.zeros((THREADS, ELEMENTS), np.float32)}


if __name__ == "__main__":
    print(run(predicate="static"))
