# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A copy of 4 x 2 elements with a predicate of 3 is rejected.  Source: NVIDIA/cutlass issue 2308, where one hung."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Int32)
    pred = cute.make_rmem_tensor((3,), cutlass.Boolean)
    pred.fill(True)
    cute.copy(atom, a, out, pred=pred)


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    a = torch.arange(8, dtype=torch.int32, device="cuda").reshape(4, 2)
    out = torch.zeros((4, 2), dtype=torch.int32, device="cuda")
    host(from_dlpack(a), from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
