# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "apache-tvm-ffi", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""`if valid: copy(...) else: copy(..., pred=false)` loads valid rows and zeroes the others.
Source: PTX ISA, cp.async.

The spelling a paged-KV kernel uses when validity is known a row at a time: both arms issue a cp.async, and the arm
for an invalid row only fills with zeros. Compiled from fake tensors; torch tensors are passed directly.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor

THREADS, ELEMENTS = 32, 4


@cute.kernel
def kernel(src: cute.Tensor, valid: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, ELEMENTS), stride=(ELEMENTS, 1)), 16)
    mine = tile[tid, None]
    mine.fill(-1.0)
    cute.arch.sync_threads()

    # CHECK-PTX: cp.async.ca.shared.global
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    pred_false = cute.make_fragment_like(mine, cutlass.Boolean)
    pred_false.fill(False)
    should_load_row = valid[tid] != 0
    if should_load_row:
        cute.copy(atom, src[tid, None], mine)
    else:
        cute.copy(atom, src[tid, None], mine, pred=pred_false)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(ELEMENTS):
        out[tid, i] = mine[i]


@cute.jit
def host(src: cute.Tensor, valid: cute.Tensor, out: cute.Tensor):
    kernel(src, valid, out).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    src = torch.arange(1, THREADS * ELEMENTS + 1, dtype=torch.float32, device="cuda").reshape(THREADS, ELEMENTS)
    valid = torch.arange(THREADS, dtype=torch.int32, device="cuda") % 3
    out = torch.full_like(src, -2.0)
    tile = make_fake_tensor(cutlass.Float32, (THREADS, ELEMENTS), (ELEMENTS, 1), assumed_align=16)
    flags = make_fake_tensor(cutlass.Int32, (THREADS,), (1,), assumed_align=4)
    compiled = cute.compile(host, tile, flags, tile, options="--enable-tvm-ffi")
    compiled(src, valid, out)
    return {"out": out}


def expected():
    out = np.arange(1, THREADS * ELEMENTS + 1, dtype=np.float32).reshape(THREADS, ELEMENTS)
    out[np.arange(THREADS) % 3 == 0] = 0
    return {"out": out}


if __name__ == "__main__":
    print(run())
