# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A kernel that is launched from plain Python, outside a jit function, is rejected.
Source: measured of NVIDIA's compiler 4.8.1, diagnostic LAUNCH_OUTSIDE_JIT.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    out[0] = n


def run():
    out = torch.full((1,), -99, dtype=torch.int32, device="cuda")
    kernel(from_dlpack(out), 4).launch(grid=(1, 1, 1), block=(1, 1, 1))
    return {"out": out}


if __name__ == "__main__":
    print(run())
