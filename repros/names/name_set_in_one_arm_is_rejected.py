# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "rejected"
# nvidia = { rejected = "name 'x' is not defined" }
# ///
"""A name that only one arm of a dynamic `if` assigns cannot be read after it.
Source: measured: both compilers refuse it; this one with SCOPE_UNBOUND_NAME at the read, NVIDIA's 4.8.1 without an id.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 3


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    if tid < n:
        x = tid + 100
    out[tid] = x


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
