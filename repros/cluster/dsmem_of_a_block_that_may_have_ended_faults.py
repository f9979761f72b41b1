# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_90"
# outcome = "fault"
# nvidia = { "<4.5" = { xfail = "map_dsmem_ptr is not there yet" }, "==4.5.*" = { xfail = "means the own block" } }
# ///
"""A block that reads another's shared memory as its last act has nothing that keeps the other one alive: a fault.
Source: PTX ISA, shared state space; CUDA programming guide, distributed shared memory.

A barrier of the cluster at the end of the kernel would keep it.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    words = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32), 128)
    words[thread] = 100 * rank + thread
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 1:
        out[thread] = cute.arch.map_dsmem_ptr(words.iterator + thread, 0).load()


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


def run():
    out = torch.full((32,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


if __name__ == "__main__":
    print(run())
