# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "PHASE_DYNAMIC_INDEX" }
# ///
"""xs[i] of a Python list with a dynamic i reads and writes the element i, from the end where i is negative.
Source: Python; NVIDIA's compiler 4.8.1 refuses it (PHASE_DYNAMIC_INDEX), measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, N = 6, 3


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    xs = [n * 10, n * 20, n * 30]
    xs[tid - n] += 1
    xs[0] += 100
    out[tid] = xs[tid - n]


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), N)
    return {"out": out}


def expected():
    out = []
    for tid in range(THREADS):
        xs = np.array([10, 20, 30], np.int32) * N
        np.add.at(xs, [tid - N, 0], [1, 100])
        out.append(xs[tid - N])
    return {"out": np.array(out, np.int32)}


if __name__ == "__main__":
    print(run())
