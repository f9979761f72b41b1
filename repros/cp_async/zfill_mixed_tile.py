# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { valid = ["none", "some", "all"] }
# ///
"""One predicated cp.async per row loads a paged tile: valid rows arrive, invalid rows are zeros.
Source: PTX ISA, cp.async.

The paged-KV case. `pages` maps a row of the tile to a row of the cache; a row with page -1 has no data. Each row of
64 Float16 is eight 16-byte copies; a row's predicate is `page >= 0`, and the address of an invalid row lies outside
the cache.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

ROWS, COLUMNS, VECTOR, CACHE_ROWS = 8, 64, 8, 16
VECTORS = COLUMNS // VECTOR
TABLES = {"none": [-1] * 8, "some": [3, -1, 0, 15, -1, -1, 3, 9], "all": [7, 6, 5, 4, 3, 2, 1, 0]}


@cute.kernel
def kernel(cache: cute.Tensor, pages: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    row, vector = tid // VECTORS, tid % VECTORS
    smem = cutlass.utils.SmemAllocator()
    layout = cute.make_layout((ROWS, VECTORS, VECTOR), stride=(COLUMNS, VECTOR, 1))
    tile = smem.allocate_tensor(cutlass.Float16, layout, 16)
    mine = tile[row, vector, None]
    mine.fill(-1.0)
    cute.arch.sync_threads()

    # CHECK-PTX: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), cutlass.Float16, num_bits_per_copy=128
    )
    page = pages[row]
    pred = cute.make_rmem_tensor((VECTOR,), cutlass.Boolean)
    pred.fill(page >= 0)
    cute.copy(atom, cache[page, vector, None], mine, pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(VECTOR):
        out[row, vector, i] = mine[i]


@cute.jit
def host(cache: cute.Tensor, pages: cute.Tensor, out: cute.Tensor):
    kernel(cache, pages, out).launch(grid=(1, 1, 1), block=(ROWS * VECTORS, 1, 1))


def run(valid):
    cache = torch.arange(CACHE_ROWS * COLUMNS, dtype=torch.float16, device="cuda").reshape(CACHE_ROWS, VECTORS, VECTOR)
    pages = torch.tensor(TABLES[valid], dtype=torch.int32, device="cuda")
    out = torch.full((ROWS, VECTORS, VECTOR), -2.0, dtype=torch.float16, device="cuda")
    tensors = from_dlpack(cache, assumed_align=16), from_dlpack(pages), from_dlpack(out, assumed_align=16)
    cute.compile(host, *tensors)(*tensors)
    return {"out": out.reshape(ROWS, COLUMNS)}


def expected(valid):
    cache = np.arange(CACHE_ROWS * COLUMNS, dtype=np.float16).reshape(CACHE_ROWS, COLUMNS)
    zeros = np.zeros(COLUMNS, np.float16)
    return {"out": np.stack([cache[page] if page >= 0 else zeros for page in TABLES[valid]])}


if __name__ == "__main__":
    print(run(valid="none"))
