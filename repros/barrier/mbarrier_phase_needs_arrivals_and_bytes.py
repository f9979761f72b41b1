# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""A phase ends when both its arrivals and the bytes it expects have come, whichever comes last.
Source: PTX ISA, mbarrier, Phase Completion.

A bulk copy brings 64 bytes before the thread that is to arrive does; the wait behind the copy alone must not pass.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor):
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 2)
    box = smem.allocate_tensor(cutlass.Float32, cute.make_layout(16), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    for i in cutlass.range_constexpr(2):
        cute.arch.mbarrier_init(barrier + i, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.mbarrier_expect_tx(barrier, 64)
    cute.arch.mbarrier_expect_tx(barrier + 1, 64)
    cute.copy(atom, source, box, mbar_ptr=barrier)  # its bytes come; nobody has arrived
    cute.arch.mbarrier_arrive(barrier + 1)  # arrived; no bytes come
    out[0] = cutlass.Int32(cute.arch.mbarrier_test_wait(barrier + 1, 0))
    cute.arch.mbarrier_arrive(barrier)
    cute.arch.mbarrier_wait(barrier, 0)  # both have come
    out[1] = cutlass.Int32(cute.arch.mbarrier_test_wait(barrier, 0))
    out[2] = cutlass.Int32(box[15])
    out[3] = cutlass.Int32(cute.arch.mbarrier_test_wait(barrier + 1, 0))


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor):
    kernel(source, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    source = torch.arange(16, dtype=torch.float32, device="cuda")
    out = torch.full((4,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(out))
    return {"out": out}


def expected():
    return {"out": np.array([0, 1, 15, 0], np.int32)}


if __name__ == "__main__":
    print(run())
