# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { waiting = [1, 2, 4] }
# ///
"""A thread that has ended counts as one that arrived at the cluster's barrier: the others go on.
Source: PTX ISA, barrier.cluster (exited threads count as arrived).

Of each block only the first warp meets, `waiting` of four blocks do so, and each of those sees what the others stored.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

BLOCKS = 4


@cute.kernel
def kernel(out: cute.Tensor, seen: cute.Tensor, waiting: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    if thread < 32:
        if rank < waiting:
            out[rank, thread] = 10 * rank + thread
            # CHECK-PTX: barrier.cluster.arrive
            cute.arch.cluster_arrive()
            cute.arch.cluster_wait()
            for other in cutlass.range_constexpr(waiting):
                seen[rank, other, thread] = out[other, 31 - thread]


@cute.jit
def host(out: cute.Tensor, seen: cute.Tensor, waiting: cutlass.Constexpr):
    kernel(out, seen, waiting).launch(grid=(BLOCKS, 1, 1), block=(64, 1, 1), cluster=(BLOCKS, 1, 1))


def run(waiting):
    out = torch.full((BLOCKS, 32), -99, dtype=torch.int32, device="cuda")
    seen = torch.full((waiting, waiting, 32), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), from_dlpack(seen), waiting)
    return {"seen": seen}


def expected(waiting):
    one = 10 * np.arange(waiting)[:, None] + 31 - np.arange(32)
    return {"seen": np.tile(one, (waiting, 1, 1)).astype(np.int32)}


if __name__ == "__main__":
    print(run(waiting=2))
