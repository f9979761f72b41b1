# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { copy = ["ca4", "ca8", "ca16", "cg16"] }
# ///
"""A cp.async whose predicate is statically false writes zeros to smem.  Source: PTX ISA, cp.async (src-size).

`pred=` does not skip the copy. It becomes the src-size operand: src-size bytes are copied and the rest of cp-size is
filled with zeros, so a false predicate is src-size 0. The smem is poisoned first, so what is zero was written.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS = 32
CACHE = {"ca": cpasync.LoadCacheMode.ALWAYS, "cg": cpasync.LoadCacheMode.GLOBAL}


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, elements: cutlass.Constexpr, cache: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, elements), stride=(elements, 1)), 16)
    mine = tile[tid, None]
    mine.fill(-1.0)
    cute.arch.sync_threads()

    # CHECK-PTX(copy=ca4): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 4, 0;
    # CHECK-PTX(copy=ca8): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 8, 0;
    # CHECK-PTX(copy=ca16): cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16, 0;
    # CHECK-PTX(copy=cg16): cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, 0;
    # CHECK-SASS(copy=cg16): LDGSTS.E{{.*}}], !PT
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cache), cutlass.Float32, num_bits_per_copy=32 * elements)
    pred = cute.make_fragment_like(mine, cutlass.Boolean)
    pred.fill(False)
    cute.copy(atom, src[tid, None], mine, pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(elements):
        out[tid, i] = mine[i]


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, elements: cutlass.Constexpr, cache: cutlass.Constexpr):
    kernel(src, out, elements, cache).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(copy):
    elements, cache = int(copy[2:]) // 4, CACHE[copy[:2]]
    src = torch.arange(1, THREADS * elements + 1, dtype=torch.float32, device="cuda").reshape(THREADS, elements)
    out = torch.full_like(src, -2.0)
    tensors = from_dlpack(src, assumed_align=16), from_dlpack(out, assumed_align=16)
    cute.compile(host, *tensors, elements, cache)(*tensors)
    return {"out": out}


def expected(copy):
    return {"out": np.zeros((THREADS, int(copy[2:]) // 4), np.float32)}


if __name__ == "__main__":
    print(run(copy="ca4"))
