# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "deadlock"
# timeout = 20
# ///
"""A named barrier for 64 threads to which only one warp comes never opens.  Source: PTX ISA, barrier.sync."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    if t < n:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    out[t] = t


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run():
    out = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), 32)
    torch.cuda.synchronize()
    return {"out": out}


if __name__ == "__main__":
    print(run())
