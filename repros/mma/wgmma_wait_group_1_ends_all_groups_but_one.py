# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90a"
# nvidia = { "<4.5" = { xfail = "OperandMajorMode is not there yet" }, "==4.5.*" = { xfail = "refuses n = 8" } }
# ///
"""wait_group(1) waits for all groups but the youngest: the sums of the older one may be read while that one runs.
Source: PTX ISA, wgmma.wait_group (at most N pending; groups complete in order).

The sums of k = 0 to 15 are read behind wait_group(1), those of k = 16 to 31 behind wait_group(0).
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
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    of_a, of_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(s_b))
    sums = cute.make_rmem_tensor(mine.partition_C(cute.local_tile(c, (64, N), (0, 0))).shape, cutlass.Float32)
    younger = cute.make_rmem_tensor(sums.shape, cutlass.Float32)
    warpgroup.fence()
    for group, where in ((0, sums), (1, younger)):
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for k in cutlass.range_constexpr(group, group + 1):
            cute.gemm(mma, where, of_a[None, None, k], of_b[None, None, k], where)
            mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
    # CHECK-PTX: wgmma.wait_group.sync.aligned 1
    warpgroup.wait_group(1)
    cute.autovec_copy(sums, mine.partition_C(cute.local_tile(c, (64, N), (0, 0))))
    # CHECK-PTX: wgmma.wait_group.sync.aligned 0
    warpgroup.wait_group(0)
    cute.autovec_copy(younger, mine.partition_C(cute.local_tile(c, (64, N), (1, 0))))


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(128, 1, 1))


def matrices():
    return (np.arange(64 * K) % 7 - 3.0).reshape(64, K), (np.arange(N * K) % 5 - 2.0).reshape(N, K)


def run():
    a, b = (torch.from_numpy(each.astype(np.float16)).to("cuda") for each in matrices())
    c = torch.full((128, N), -99.0).to("cuda")
    host(*(from_dlpack(each, assumed_align=16) for each in (a, b, c)))
    return {"c": c}


def expected():
    a, b = matrices()
    return {"c": np.vstack([a[:, :16] @ b[:, :16].T, a[:, 16:] @ b[:, 16:].T]).astype(np.float32)}


if __name__ == "__main__":
    print(run())
