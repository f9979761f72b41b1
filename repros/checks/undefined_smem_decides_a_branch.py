# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "undefined_read"
# ///
"""Shared memory holds nothing before its first write, also where only every second word was written.
Source: CUDA guide: variables in shared memory cannot have an initial value.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    flags = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    if t % 2 == 0:
        flags[t] = 1
    cute.arch.sync_threads()
    if flags[t] == 1:
        x[t] = t


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run():
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}


if __name__ == "__main__":
    print(run())
