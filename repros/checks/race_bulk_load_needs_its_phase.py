# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "race"
# ///
"""A thread that did not wait for the phase of a bulk copy's mbarrier may not read its bytes, though another did.
Source: PTX ISA, cp.async.bulk: completion is seen by those who wait for the mbarrier.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Float32, cute.make_layout(32), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 128)
        cute.copy(atom, source, box, mbar_ptr=barrier)
    cute.arch.sync_threads()
    if tidx < 32:
        cute.arch.mbarrier_wait(barrier, 0)
    out[tidx] = box[tidx % 32]  # the second warp did not wait


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor):
    kernel(source, out).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run():
    source, out = torch.zeros(32, device="cuda"), torch.zeros(64, device="cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
