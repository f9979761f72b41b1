# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`cutlass.range(6, unroll_full=True)` leaves six loads and no branch in PTX; the loop variable stays a traced Int32.
Source: CuTe DSL, control flow (loop unrolling); measured of NVIDIA's compiler 4.8.1.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, TRIPS = 32, 6
kinds = []


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    total = cutlass.Int32(0)
    # CHECK-PTX-NOT: bra
    # CHECK-PTX-COUNT-6: ld.global
    # CHECK-PTX-NOT: ld.global
    for i in cutlass.range(TRIPS, unroll_full=True):
        kinds.append(isinstance(i, int))
        total = total * 3 + a[tid, i]
    out[tid] = total


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    a = torch.arange(THREADS * TRIPS, dtype=torch.int32, device="cuda").reshape(THREADS, TRIPS)
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    kinds.clear()
    host(from_dlpack(a), from_dlpack(out))
    return {"out": out, "python_ints": np.array([sum(kinds)])}


def expected():
    a = np.arange(THREADS * TRIPS).reshape(THREADS, TRIPS)
    return {"out": (a @ 3 ** np.arange(TRIPS)[::-1]).astype(np.int32), "python_ints": np.array([0])}


if __name__ == "__main__":
    print(run())
