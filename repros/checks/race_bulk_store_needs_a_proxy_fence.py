# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "race"
# ///
"""A barrier does not show ordinary writes to a bulk store: the writer needs fence.proxy.async before it.
Source: PTX ISA, memory consistency model, Proxies; fence.proxy.async.
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
    cute.arch.sync_threads()
    # CHECK-PTX-NOT: fence.proxy
    # CHECK-PTX: cp.async.bulk.global
    if tidx == 0:
        cute.copy(atom, box, out)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    out = torch.zeros(32, device="cuda")
    host(from_dlpack(out, assumed_align=16))
    return {"out": out}


if __name__ == "__main__":
    print(run())
