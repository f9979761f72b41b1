# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# nvidia = { "<4.5" = { xfail = "map_dsmem_ptr is not there yet" }, "==4.5.*" = { xfail = "means the own block" } }
# ///
"""What a block stores in the shared memory of its neighbours is there for them behind a barrier of the cluster.
Source: PTX ISA, mapa; barrier.cluster (.arrive has release, .wait acquire semantics).

Each block writes into the next one of four, and reads what the one before it wrote.
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
    words = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32), 128)
    words[thread] = -1
    cute.arch.cluster_arrive()  # every block has begun, and poisoned its own
    cute.arch.cluster_wait()
    # CHECK-PTX: mapa
    # CHECK-PTX: st.shared::cluster
    there = cute.arch.map_dsmem_ptr(words.iterator + thread, (rank + 1) % BLOCKS)
    there.store(100 * rank + thread)
    # CHECK-PTX: barrier.cluster.arrive
    cute.arch.cluster_arrive()
    # CHECK-PTX: barrier.cluster.wait
    cute.arch.cluster_wait()
    out[rank, thread] = words[thread]


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(BLOCKS, 1, 1), block=(32, 1, 1), cluster=(BLOCKS, 1, 1))


def run():
    out = torch.full((BLOCKS, 32), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    before = (np.arange(BLOCKS) - 1) % BLOCKS
    return {"out": (100 * before[:, None] + np.arange(32)).astype(np.int32)}


if __name__ == "__main__":
    print(run())
