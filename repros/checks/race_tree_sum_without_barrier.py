# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "race"
# ///
"""A tree of sums in shared memory needs a barrier of the block after every step, also after the first.
Source: PTX ISA, memory consistency model, and bar.sync.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    sums = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(128))
    sums[t] = t
    for step in cutlass.range_constexpr(7):
        if t < 64 >> step:
            sums[t] = sums[t] + sums[t + (64 >> step)]
        cute.arch.sync_threads()
    if t == 0:
        x[0] = sums[0]


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(128, 1, 1))


def run():
    x = torch.zeros(1, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}


if __name__ == "__main__":
    print(run())
