# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "deadlock"
# timeout = 20
# ///
"""A wait for a phase that ended two phases ago does not pass: its parity is that of the phase that goes on.
Source: PTX ISA, mbarrier.try_wait (.parity): the phase is the current one or the one before it.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_arrive(barrier)  # ends the first phase, of parity 0
    cute.arch.mbarrier_arrive(barrier)  # ends the second, of parity 1
    cute.arch.mbarrier_wait(barrier, 0)  # meant for the first; the third goes on
    out[0] = cutlass.Int32(1)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    torch.cuda.synchronize()
    return {"out": out}


if __name__ == "__main__":
    print(run())
