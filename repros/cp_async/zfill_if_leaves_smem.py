# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A plain `if` around a cp.async leaves smem untouched where it is false: no zeros.
Source: PTX ISA, cp.async; CuTe DSL, control flow.

The other spelling of zfill_pred_runtime: a branch round the copy, not a predicate. Threads that skip it keep the
poison.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS, ELEMENTS, LIMIT, POISON = 32, 4, 11, -1.0


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, ELEMENTS), stride=(ELEMENTS, 1)), 16)
    mine = tile[tid, None]
    mine.fill(POISON)
    cute.arch.sync_threads()

    # CHECK-PTX: bra
    # CHECK-PTX: cp.async.ca.shared.global
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    if tid < limit:
        cute.copy(atom, src[tid, None], mine)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(ELEMENTS):
        out[tid, i] = mine[i]


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
    out[LIMIT:] = POISON
    return {"out": out}


if __name__ == "__main__":
    print(run())
