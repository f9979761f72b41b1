# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "out_of_bounds"
# ///
"""x[i] is not checked against the shape (128,): where i is 500 it writes past the end.
Source: measured, nvidia-cutlass-dsl 4.8.1, which takes a static 500 too; ours rejects that.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, i: cutlass.Int32):
    x[i] = 1.0


@cute.jit
def host(x: cute.Tensor, i: cutlass.Int32):
    kernel(x, i).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.zeros(128, dtype=torch.float32, device="cuda")
    host(from_dlpack(x), 500)
    return {"x": x}


if __name__ == "__main__":
    print(run())
