# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "UNSUP_EARLY_EXIT" }
# ///
"""The `else` of a loop is skipped in the threads that break out of it, and runs in the others.
Source: Python, for; NVIDIA's compiler 4.8.1 refuses it (UNSUP_EARLY_EXIT for the break), measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 32, 100


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    prime = 0
    for i in range(2, tid):
        if tid % i == 0:
            break
    else:
        prime = n
    out[tid] = prime


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    broken = [any(tid % i == 0 for i in range(2, tid)) for tid in range(THREADS)]
    return {"out": np.where(broken, 0, N).astype(np.int32)}


if __name__ == "__main__":
    print(run())
