# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "race"
# ///
"""No barrier orders two blocks of one launch: what one writes and another reads is a race without a flag and fences.
Source: PTX ISA, memory consistency model.

Barriers synchronise threads of one block; blocks synchronise by release and acquire.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    x[block] = block + 1
    cute.arch.sync_threads()
    x[2 + block] = x[1 - block]


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(2, 1, 1), block=(1, 1, 1))


def run():
    x = torch.zeros(4, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}


if __name__ == "__main__":
    print(run())
