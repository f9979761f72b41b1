# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { words = [1, 2, 4] }
# nvidia = { "<4.6" = { xfail = "store_async_dsmem is not there yet" } }
# ///
"""st.async writes 4, 8 or 16 bytes into another block and completes so many bytes of a phase of its mbarrier there.
Source: PTX ISA, st.async (.mbarrier::complete_tx::bytes).

Each of 32 threads sends numbers to the other block, which waits for their bytes and for no arrival of theirs.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor, words: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.utils.SmemAllocator()
    got = smem.allocate_tensor(cutlass.Int32, cute.make_layout(32 * words), 128)
    barrier = smem.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 32 * words * 4)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    first = 1000 * rank + words * thread
    numbers = tuple(cutlass.Int32(first + i) for i in range(words))
    value = numbers[0] if cutlass.const_expr(words == 1) else numbers
    # CHECK-PTX(words=1): st.async{{.*}}complete_tx::bytes.b32
    # CHECK-PTX(words=2): st.async{{.*}}complete_tx::bytes.v2.b32
    # CHECK-PTX(words=4): st.async{{.*}}complete_tx::bytes.v4.b32
    to = (got.iterator + words * thread).align(4 * words)
    cute.arch.store_async_dsmem(to, value, barrier, rank ^ 1)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in cutlass.range_constexpr(words):
        out[rank, i, thread] = got[i * 32 + 31 - thread]


@cute.jit
def host(out: cute.Tensor, words: cutlass.Constexpr):
    kernel(out, words).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


def run(words):
    out = torch.full((2, words, 32), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), words)
    return {"out": out}


def expected(words):
    sent = np.arange(32 * words).reshape(words, 32)[:, ::-1]
    return {"out": np.stack([sent + 1000, sent]).astype(np.int32)}


if __name__ == "__main__":
    print(run(words=4))
