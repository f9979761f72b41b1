# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# nvidia = { "<4.5" = { xfail = "map_dsmem_ptr is not there yet" }, "==4.5.*" = { xfail = "means the own block" } }
# ///
"""An arrival at another block's mbarrier counts there, and what the thread stored there before is seen behind it.
Source: PTX ISA, mbarrier.arrive (.shared::cluster; release at cluster scope).

Three blocks of four send block 0 their ranks; its phase needs the 96 arrivals of their threads.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

BLOCKS = 4


@cute.kernel
def kernel(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.utils.SmemAllocator()
    got = smem.allocate_tensor(cutlass.Int32, cute.make_layout(32 * BLOCKS), 128)
    barrier = smem.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 32 * (BLOCKS - 1))
        cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank > 0:
        cute.arch.map_dsmem_ptr(got.iterator + (32 * rank + thread), 0).store(100 * rank + thread)
        cute.arch.fence_acq_rel_cluster()  # the arrival alone releases for its own block (PTX ISA: .cta)
        # CHECK-PTX: mbarrier.arrive{{.*}}shared::cluster
        cute.arch.mbarrier_arrive(barrier, 0)
    else:
        cute.arch.mbarrier_wait(barrier, 0)
        for other in cutlass.range_constexpr(1, BLOCKS):
            out[other, thread] = got[32 * other + 31 - thread]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(BLOCKS, 1, 1), block=(32, 1, 1), cluster=(BLOCKS, 1, 1))


def run():
    out = torch.full((BLOCKS, 32), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    out = 100 * np.arange(BLOCKS)[:, None] + 31 - np.arange(32)
    out[0] = -1
    return {"out": out.astype(np.int32)}


if __name__ == "__main__":
    print(run())
