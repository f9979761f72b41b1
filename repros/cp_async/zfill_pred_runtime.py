# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { copy = ["ca4", "ca8", "ca16", "cg16"] }
# ///
"""A cp.async with a run-time predicate copies where it is true and writes zeros where it is false, without a branch.
Source: PTX ISA, cp.async (src-size).

The predicate selects the src-size operand of one cp.async that every thread issues. Only threads below `limit`, a
run-time argument, have a true predicate. In SASS a size chosen between all and nothing is no guard and no .ZFILL: it
is the source predicate of LDGSTS, its last operand.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS, LIMIT = 32, 11
CACHE = {"ca": cpasync.LoadCacheMode.ALWAYS, "cg": cpasync.LoadCacheMode.GLOBAL}


@cute.kernel
def kernel(
    src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32, elements: cutlass.Constexpr, cache: cutlass.Constexpr
):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, elements), stride=(elements, 1)), 16)
    mine = tile[tid, None]
    mine.fill(-1.0)
    cute.arch.sync_threads()

    # CHECK-PTX-NOT: bra
    # CHECK-PTX(copy=ca4): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 4, %r{{[0-9]+}};
    # CHECK-PTX(copy=ca8): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 8, %r{{[0-9]+}};
    # CHECK-PTX(copy=ca16): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
    # CHECK-PTX(copy=cg16): cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
    # CHECK-PTX-NOT: bra
    # CHECK-SASS(copy=cg16)-NOT: @{{!?}}P{{[0-9]}} LDGSTS
    # CHECK-SASS(copy=cg16): LDGSTS.E{{.*}}], {{!?}}P{{[0-9]}}
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cache), cutlass.Float32, num_bits_per_copy=32 * elements)
    pred = cute.make_fragment_like(mine, cutlass.Boolean)
    pred.fill(tid < limit)
    cute.copy(atom, src[tid, None], mine, pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(elements):
        out[tid, i] = mine[i]


@cute.jit
def host(
    src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32, elements: cutlass.Constexpr, cache: cutlass.Constexpr
):
    kernel(src, out, limit, elements, cache).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(copy):
    elements, cache = int(copy[2:]) // 4, CACHE[copy[:2]]
    src = torch.arange(1, THREADS * elements + 1, dtype=torch.float32, device="cuda").reshape(THREADS, elements)
    out = torch.full_like(src, -2.0)
    tensors = from_dlpack(src, assumed_align=16), from_dlpack(out, assumed_align=16)
    cute.compile(host, *tensors, LIMIT, elements, cache)(*tensors, LIMIT)
    return {"out": out}


def expected(copy):
    elements = int(copy[2:]) // 4
    out = np.arange(1, THREADS * elements + 1, dtype=np.float32).reshape(THREADS, elements)
    out[LIMIT:] = 0
    return {"out": out}


if __name__ == "__main__":
    print(run(copy="ca4"))
