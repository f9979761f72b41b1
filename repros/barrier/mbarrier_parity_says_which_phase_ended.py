# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# ///
"""test_wait(parity) is true exactly while the phase of that parity is the one before the current phase.
Source: PTX ISA, mbarrier.test_wait.

Of a new barrier the phase of parity 1 has ended, and that of parity 0 has not.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

PHASES = 4


@cute.kernel
def kernel(out: cute.Tensor):
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    cute.arch.mbarrier_init(barrier, 2)
    for i in range(PHASES):
        for parity in cutlass.range_constexpr(2):
            # CHECK-PTX: mbarrier.test_wait.parity
            out[i, 0, parity] = cutlass.Int32(cute.arch.mbarrier_test_wait(barrier, parity))
        cute.arch.mbarrier_arrive(barrier)
        for parity in cutlass.range_constexpr(2):  # one arrival of two: still the same phase
            out[i, 1, parity] = cutlass.Int32(cute.arch.mbarrier_test_wait(barrier, parity))
        cute.arch.mbarrier_arrive(barrier)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((PHASES, 2, 2), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    before = (np.arange(PHASES) + 1) % 2
    return {"out": np.broadcast_to((before[:, None, None] == np.arange(2)), (PHASES, 2, 2)).astype(np.int32)}


if __name__ == "__main__":
    print(run())
