# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "trap"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""`raise` under a dynamic test in a kernel is a trap in the threads that reach it.
Source: the meaning of assert in CUDA C++; NVIDIA's compiler 4.8.1 refuses it (UNSUP_EARLY_EXIT), measured.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 32, 31


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    if tid >= n:
        raise ValueError("no place for this thread")
    out[tid] = tid


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


if __name__ == "__main__":
    print(run())
