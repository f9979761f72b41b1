# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""After cp.async.bulk.wait_group.read and a barrier the source of a bulk store may change: the old bytes arrive.
Source: PTX ISA, cp.async.bulk.wait_group (.read).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

ROUNDS = 3


@cute.kernel
def kernel(out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    box = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32)
    for i in range(ROUNDS):
        box[31 - tidx] = cutlass.Float32(100 * i + tidx)
        # CHECK-PTX: fence.proxy.async.shared::cta
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if tidx == 0:
            # CHECK-PTX: cp.async.bulk.global.shared::cta.bulk_group
            cute.copy(atom, box, out[None, i])
            cute.arch.cp_async_bulk_commit_group()
            # CHECK-PTX: cp.async.bulk.wait_group.read
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_threads()
    box[tidx] = cutlass.Float32(-2.0)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    out = torch.full((ROUNDS, 32), -1, dtype=torch.float32, device="cuda")
    host(from_dlpack(out.t(), assumed_align=16))
    return {"out": out}


def expected():
    return {"out": (100 * np.arange(ROUNDS)[:, None] + 31 - np.arange(32)).astype(np.float32)}


if __name__ == "__main__":
    print(run())
