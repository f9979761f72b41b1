# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "race"
# ///
"""A copy into a slot that another warp still reads is a race: the full barrier does not say that the slot was read.
Source: PTX ISA, cp.async.bulk: its writes are ordered by nothing but its mbarrier.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

BOXES = 2


@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    full = smem.allocate_array(cutlass.Int64, BOXES)
    slot = smem.allocate_tensor(cutlass.Float32, cute.make_layout(32), 128)
    if tidx == 0:
        for i in cutlass.range_constexpr(BOXES):
            cute.arch.mbarrier_init(full + i, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    if tidx == 32:
        for i in range(BOXES):
            cute.arch.mbarrier_arrive_and_expect_tx(full + i, 128)
            cute.copy(atom, source[None, i], slot, mbar_ptr=full + i)
            cute.arch.mbarrier_wait(full + i, 0)
    if tidx < 32:
        for i in range(BOXES):
            cute.arch.mbarrier_wait(full + i, 0)
            out[tidx, i] = slot[31 - tidx]


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor):
    kernel(source, out).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run():
    source, out = torch.zeros((BOXES, 32), device="cuda"), torch.zeros((32, BOXES), device="cuda")
    host(from_dlpack(source.t(), assumed_align=16), from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
