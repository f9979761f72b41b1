# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "trap"
# nvidia = { rejected = "PHASE_DYNAMIC_INDEX" }
# ///
"""A dynamic index past the end of a Python list ends the kernel in a trap: no other element is read.
Source: Python, IndexError; NVIDIA's compiler 4.8.1 refuses dynamic indices (PHASE_DYNAMIC_INDEX), measured.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 4, 3


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    xs = [n, n + 1, n + 2]
    out[tid] = xs[tid]


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
