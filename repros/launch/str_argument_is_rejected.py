# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A str is no argument of a jit function unless it is marked Constexpr.
Source: measured of NVIDIA's compiler 4.8.1, diagnostic ARG_UNSUPPORTED_TYPE.
"""

import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    out[0] = 1


@cute.jit
def host(out: cute.Tensor, mode):
    kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), "fast")
    return {"out": out}


if __name__ == "__main__":
    print(run())
