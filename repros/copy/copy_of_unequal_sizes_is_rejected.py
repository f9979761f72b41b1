# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A copy between tensors of 8 and of 6 elements is rejected.  Source: NVIDIA/cutlass issue 2319, where one aborted."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Int32)
    cute.copy(atom, a, out)


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    a = torch.arange(8, dtype=torch.int32, device="cuda")
    out = torch.zeros(6, dtype=torch.int32, device="cuda")
    host(from_dlpack(a), from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
