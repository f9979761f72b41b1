# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# runs = 200
# allowed = "model"
# ///
"""Two blocks that write their own flag and then read the other's may both read the old value.
Source: PTX ISA, memory consistency model; litmus test SB.

The other three outcomes are those of some order of the accesses; this one needs a machine that delays stores.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(flags: cute.Tensor, r: cute.Tensor):
    mine, _, _ = cute.arch.block_idx()
    flags[mine] = 1
    r[mine] = flags[1 - mine]


@cute.jit
def host(flags: cute.Tensor, r: cute.Tensor):
    kernel(flags, r).launch(grid=(2, 1, 1), block=(1, 1, 1))


COMPILED = []


def run():
    flags = torch.zeros(2, dtype=torch.int32, device="cuda")
    r = torch.full((2,), -1, dtype=torch.int32, device="cuda")
    if not COMPILED:
        COMPILED.append(cute.compile(host, from_dlpack(flags), from_dlpack(r)))
    COMPILED[0](from_dlpack(flags), from_dlpack(r))
    return {"r": r}


if __name__ == "__main__":
    print(run())
