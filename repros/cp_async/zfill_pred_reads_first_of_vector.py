# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { first = [true, false] }
# ///
"""One cp.async obeys the first element of its predicate: a vector is copied whole or zeroed whole.
Source: PTX ISA, cp.async (one src-size an instruction); CuTe DSL 4.8.1, measured.

Each thread copies four Float32 with one 16-byte cp.async under four Booleans; the first differs from the others.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS, ELEMENTS = 32, 4


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, first: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, ELEMENTS), stride=(ELEMENTS, 1)), 16)
    mine = tile[tid, None]
    mine.fill(-1.0)
    cute.arch.sync_threads()

    # CHECK-PTX(first=True): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16, 16;
    # CHECK-PTX(first=False): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16, 0;
    # CHECK-PTX-NOT: cp.async.ca
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    pred = cute.make_rmem_tensor((ELEMENTS,), cutlass.Boolean)
    pred.fill(not first)
    pred[0] = first
    cute.copy(atom, src[tid, None], mine, pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(ELEMENTS):
        out[tid, i] = mine[i]


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, first: cutlass.Constexpr):
    kernel(src, out, first).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(first):
    src = torch.arange(1, THREADS * ELEMENTS + 1, dtype=torch.float32, device="cuda").reshape(THREADS, ELEMENTS)
    out = torch.full_like(src, -2.0)
    host(from_dlpack(src, assumed_align=16), from_dlpack(out, assumed_align=16), first)
    return {"out": out}


def expected(first):
    src = np.arange(1, THREADS * ELEMENTS + 1, dtype=np.float32).reshape(THREADS, ELEMENTS)
    return {"out": src if first else np.zeros_like(src)}


if __name__ == "__main__":
    print(run(first=True))
