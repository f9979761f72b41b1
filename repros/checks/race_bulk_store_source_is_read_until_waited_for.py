# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "race"
# ///
"""A bulk store reads its source until its group is waited for: to commit the group alone does not free the source.
Source: PTX ISA, cp.async.bulk.wait_group (.read).
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    box = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32)
    box[tidx] = cutlass.Float32(tidx)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if tidx == 0:
        cute.copy(atom, box, out)
        cute.arch.cp_async_bulk_commit_group()
    # CHECK-PTX: cp.async.bulk.commit_group
    # CHECK-PTX-NOT: wait_group
    cute.arch.sync_threads()
    box[31 - tidx] = cutlass.Float32(-1.0)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    out = torch.zeros(32, device="cuda")
    host(from_dlpack(out, assumed_align=16))
    return {"out": out}


if __name__ == "__main__":
    print(run())
