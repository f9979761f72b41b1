# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# nvidia = { "<4.5" = { xfail = "map_dsmem_ptr is not there yet" }, "==4.5.*" = { xfail = "means the own block" } }
# ///
"""A load through a mapped address reads the same offset in the block whose rank is named, the own block too.
Source: PTX ISA, mapa; ld.shared::cluster.

The rank is %cluster_ctarank, which counts x first: checked against the index of the block in a cluster of 2 x 2.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor, ranks: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x, y, _ = cute.arch.block_in_cluster_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.utils.SmemAllocator()
    smem.allocate_array(cutlass.Int32, 32)  # so that the offset is not 0
    words = smem.allocate_tensor(cutlass.Int32, cute.make_layout(32), 128)
    words[thread] = 100 * rank + thread
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    for other in cutlass.range_constexpr(4):
        # CHECK-PTX: mapa
        # CHECK-PTX: ld.shared::cluster
        out[rank, other, thread] = cute.arch.map_dsmem_ptr(words.iterator + (31 - thread), other).load()
    ranks[y, x] = rank
    cute.arch.cluster_arrive()  # nobody ends while others read its memory
    cute.arch.cluster_wait()


@cute.jit
def host(out: cute.Tensor, ranks: cute.Tensor):
    kernel(out, ranks).launch(grid=(2, 2, 1), block=(32, 1, 1), cluster=(2, 2, 1))


def run():
    out = torch.full((4, 4, 32), -99, dtype=torch.int32, device="cuda")
    ranks = torch.full((2, 2), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), from_dlpack(ranks))
    return {"out": out, "ranks": ranks}


def expected():
    one = 100 * np.arange(4)[:, None] + 31 - np.arange(32)
    return {"out": np.tile(one, (4, 1, 1)).astype(np.int32), "ranks": np.arange(4, dtype=np.int32).reshape(2, 2)}


if __name__ == "__main__":
    print(run())
