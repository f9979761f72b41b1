# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "deadlock"
# timeout = 20
# ///
"""A phase that expects one byte less than its copies bring never ends.  Source: PTX ISA, mbarrier, Phase Completion.

The phase ends where the count of bytes is zero; here it is -1. Copies bring multiples of 16 bytes:
no part of one makes it zero.
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
    box = smem.allocate_tensor(cutlass.Float32, cute.make_layout(16), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.mbarrier_arrive_and_expect_tx(barrier, 64 - 1)
    cute.copy(atom, source, box, mbar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    out[0] = box[0]


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor):
    kernel(source, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    source, out = torch.zeros(16, device="cuda"), torch.zeros(1, device="cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(out))
    torch.cuda.synchronize()
    return {"out": out}


if __name__ == "__main__":
    print(run())
