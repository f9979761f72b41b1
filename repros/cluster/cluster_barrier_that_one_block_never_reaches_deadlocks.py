# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "deadlock"
# ///
"""A block at the cluster's barrier waits for every block: one that waits for this one's arrival elsewhere never comes.
Source: PTX ISA, barrier.cluster.wait.

Block 0 would arrive at block 1's mbarrier behind the barrier, where block 1 waits before it.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 1:
        cute.arch.mbarrier_wait(barrier, 0)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 0:
        cute.arch.mbarrier_arrive(barrier, 1)
    out[rank, thread] = 1
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


def run():
    out = torch.zeros((2, 32), dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    torch.cuda.synchronize()
    return {"out": out}


if __name__ == "__main__":
    print(run())
