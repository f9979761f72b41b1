# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""Float16 + BFloat16 is a Float16: 60000 + 8192 is infinite, and 1 + 2**-10 keeps its last bit.
Source: measured of NVIDIA's compiler 4.8.1; IEEE 754 binary16.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

HALVES = [60000.0, 2.0**-10, 0.5]
BRAINS = [8192.0, 1.0, 0.25]


@cute.kernel
def kernel(h: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = cutlass.Float32(h[tid] + b[tid])


@cute.jit
def host(h: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    kernel(h, b, out).launch(grid=(1, 1, 1), block=(len(HALVES), 1, 1))


def run():
    h = torch.tensor(HALVES, dtype=torch.float16, device="cuda")
    b = torch.tensor(BRAINS, dtype=torch.bfloat16, device="cuda")
    out = torch.full((len(HALVES),), -99.0, dtype=torch.float32, device="cuda")
    host(from_dlpack(h), from_dlpack(b), from_dlpack(out))
    return {"out": out}


def expected():
    with np.errstate(over="ignore"):
        return {"out": (np.array(HALVES, np.float16) + np.array(BRAINS, np.float16)).astype(np.float32)}


if __name__ == "__main__":
    print(run())
