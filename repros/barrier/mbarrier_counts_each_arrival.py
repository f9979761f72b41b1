# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { count = [1, 3, 40] }
# ///
"""Each phase ends with as many arrivals as init says, all by one thread too, and the next one counts from zero.
Source: PTX ISA, mbarrier, Phase Completion.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

PHASES = 3


@cute.kernel
def kernel(out: cute.Tensor, count: cutlass.Constexpr):
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    # CHECK-PTX: mbarrier.init.shared
    cute.arch.mbarrier_init(barrier, count)
    for i in range(PHASES * count):
        cute.arch.mbarrier_arrive(barrier)
        out[i] = cutlass.Int32(cute.arch.mbarrier_test_wait(barrier, 0))


@cute.jit
def host(out: cute.Tensor, count: cutlass.Constexpr):
    kernel(out, count).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run(count):
    out = torch.full((PHASES * count,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), count)
    return {"out": out}


def expected(count):
    ended = np.arange(1, PHASES * count + 1) // count  # so many phases
    return {"out": (ended % 2).astype(np.int32)}  # the last of them has parity 0, if they are odd in number


if __name__ == "__main__":
    print(run(count=3))
