# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""barrier(barrier_id=1, number_of_threads=64) joins two warps; the others of the block go past it.
Source: PTX ISA, barrier.sync.

Warps 0 and 1 exchange through shared memory around the barrier. Warps 2 and 3 never come to it, and end.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 128


@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    shared = smem.allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    if t < 64:
        shared[t] = t * 3
        # CHECK-PTX: {{bar|barrier}}.sync{{.*}}1, 64;
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
        out[t] = shared[63 - t]
    else:
        out[t] = -t


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    out = torch.full((THREADS,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    t = np.arange(THREADS, dtype=np.int32)
    return {"out": np.where(t < 64, (63 - t) * 3, -t).astype(np.int32)}


if __name__ == "__main__":
    print(run())
