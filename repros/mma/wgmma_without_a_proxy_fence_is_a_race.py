# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90a"
# outcome = "race"
# nvidia = { "<4.5" = { xfail = "OperandMajorMode is not there yet" }, "==4.5.*" = { xfail = "refuses n = 8" } }
# ///
"""wgmma reads shared memory through the async proxy: ordinary stores and a barrier, with no proxy fence, are a race.
Source: PTX ISA, wgmma.mma_async (async proxy); fence.proxy.async.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.runtime import from_dlpack

N, K = 8, 32


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    f16, major = cutlass.Float16, OperandMajorMode.K
    source = warpgroup.OperandSource.SMEM
    mma = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(f16, cutlass.Float32, (64, N, 16), source, major, major))
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW64, f16)
    smem, mine = cutlass.utils.SmemAllocator(), mma.get_slice(thread)
    layout_a, layout_b = (cute.tile_to_shape(atom, each.shape, (0, 1)) for each in (a, b))
    s_a = smem.allocate_tensor(f16, layout_a.outer, 1024, layout_a.inner)
    s_b = smem.allocate_tensor(f16, layout_b.outer, 1024, layout_b.inner)
    for i in range(thread, cute.size(a), 128):
        s_a[i] = a[i]
    for i in range(thread, cute.size(b), 128):
        s_b[i] = b[i]
    cute.arch.sync_threads()
    of_a, of_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(s_b))
    sums = cute.make_rmem_tensor(mine.partition_C(c).shape, cutlass.Float32)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    for k in cutlass.range_constexpr(2):
        cute.gemm(mma, sums, of_a[None, None, k], of_b[None, None, k], sums)
        mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, mine.partition_C(c))


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(128, 1, 1))


def matrices():
    return (np.arange(64 * K) % 7 - 3.0).reshape(64, K), (np.arange(N * K) % 5 - 2.0).reshape(N, K)


def run():
    a, b = (torch.from_numpy(each.astype(np.float16)).to("cuda") for each in matrices())
    c = torch.zeros(64, N).to("cuda")
    host(*(from_dlpack(each, assumed_align=16) for each in (a, b, c)))
    return {"c": c}


if __name__ == "__main__":
    print(run())
