# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# runs = 200
# allowed = { x = [1, 2, 3, 4] }
# ///
"""Of four threads that add 1 to one place without an atomic, up to three increments are lost.
Source: PTX ISA, memory consistency model: a race on ordinary accesses orders nothing.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    if t % 32 == 0:
        x[0] = x[0] + 1


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(128, 1, 1))


COMPILED = []


def run():
    x = torch.zeros(1, dtype=torch.int32, device="cuda")
    if not COMPILED:
        COMPILED.append(cute.compile(host, from_dlpack(x)))
    COMPILED[0](from_dlpack(x))
    return {"x": x[0]}


if __name__ == "__main__":
    print(run())
