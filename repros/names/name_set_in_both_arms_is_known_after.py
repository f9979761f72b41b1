# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "name 'x' is not defined" }
# ///
"""A name that both arms of a dynamic `if` assign first can be read after it.
Source: Python; NVIDIA's compiler 4.8.1 wants an assignment before the `if`, measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 8, 3


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    if tid < n:
        x = tid + 100
    elif tid == n:
        x = tid * 0
    else:
        x = n - tid
    out[tid] = x


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    tid = np.arange(THREADS)
    return {"out": np.select([tid < N, tid == N], [tid + 100, 0], N - tid).astype(np.int32)}


if __name__ == "__main__":
    print(run())
