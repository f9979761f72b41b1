# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# ///
"""A kernel that is called and never launched is rejected at compile time.
Source: measured of NVIDIA's compiler 4.8.1, diagnostic LAUNCH_NEVER_ISSUED.
"""

import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    out[0] = 1


@cute.jit
def host(out: cute.Tensor):
    kernel(out)


def run():
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
