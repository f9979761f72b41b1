# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# runs = 20
# allowed = "model"
# ///
"""A bulk load may bring what memory held before the store of its own thread, without a fence of the async proxy.
Source: PTX ISA, memory consistency model (proxies) and cp.async.bulk.

The wait for the bytes orders the copy before the read of them, not the store before the copy.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor):
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Int32, cute.make_layout(4), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Int32)
    cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    source[0] = 2
    cute.arch.mbarrier_arrive_and_expect_tx(barrier, 16)
    cute.copy(atom, source, box, mbar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    out[0] = box[0]


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor):
    kernel(source, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    source = torch.ones(4, dtype=torch.int32, device="cuda")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
