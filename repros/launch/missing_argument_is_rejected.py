# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A call of a jit function that lacks an argument is rejected at compile time.
Source: measured of NVIDIA's compiler 4.8.1, diagnostic CALL_MISSING_ARG.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    out[0] = n


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
