# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "race"
# ///
"""A shuffle makes the lanes of a warp meet, but orders none of their accesses to memory: sync_warp does.
Source: PTX ISA, bar.warp.sync (which guarantees memory ordering) and shfl.sync (which does not).
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    values = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32))
    values[t] = t * t
    first = cute.arch.shuffle_sync(t, 0)
    x[t] = values[31 - t] + first


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    x = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}


if __name__ == "__main__":
    print(run())
