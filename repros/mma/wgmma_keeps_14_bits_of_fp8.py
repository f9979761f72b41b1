# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90a"
# evidence = "published:deepseek2024"
# nvidia = { "<4.5" = { xfail = "OperandMajorMode is not there yet" }, "==4.5.*" = { xfail = "refuses n = 8" } }
# ///
"""A wgmma of 8-bit floats keeps 14 bits of each product beside the largest, though it accumulates in f32.
Source: DeepSeek-V3 technical report, section on the precision of accumulation (H800); Xie et al. 2025 say 13 fraction
bits, which is the same: one bit is in front of them.

Column 0 gives the product 1. Row r has 2**-(6 + r) beside it: down to 2**-13 it is summed, from 2**-14 on it is lost.
In the row behind them 31 products of 2**-14 are lost one by one, although their sum would not be.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass import Float8E4M3FN, Float32
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.runtime import from_dlpack

N = 8


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread = cute.arch.thread_idx()[0]
    source, major = warpgroup.OperandSource.SMEM, OperandMajorMode.K
    op = warpgroup.MmaF8Op(Float8E4M3FN, Float8E4M3FN, Float32, (64, N, 32), source, major, major)
    mma = cute.make_tiled_mma(op)
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW32, Float8E4M3FN)
    layout_a, layout_b = (cute.tile_to_shape(atom, each.shape, (0, 1)) for each in (a, b))
    smem, mine = cutlass.utils.SmemAllocator(), mma.get_slice(thread)
    s_a = smem.allocate_tensor(Float8E4M3FN, layout_a.outer, 1024, layout_a.inner)
    s_b = smem.allocate_tensor(Float8E4M3FN, layout_b.outer, 1024, layout_b.inner)
    for i in range(thread, cute.size(a), 128):
        s_a[i] = a[i]
    for i in range(thread, cute.size(b), 128):
        s_b[i] = b[i]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    of_a, of_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(s_b))
    sums = cute.make_rmem_tensor(mine.partition_C(c).shape, Float32)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    # CHECK-PTX: wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3
    cute.gemm(mma, sums, of_a[None, None, 0], of_b[None, None, 0], sums)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, mine.partition_C(c))


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(128, 1, 1))


def power(exponent: int) -> int:
    """The bits of 2**exponent as e4m3; from 2**-7 down it is subnormal."""
    return (7 + exponent) << 3 if exponent > -7 else 1 << 9 + exponent


ROWS, KEPT = 10, 8  # those that have one small product, and those of them in which it is summed


def run():
    a, b = (torch.zeros(rows, 32, dtype=torch.uint8) for rows in (64, N))
    a[: ROWS + 1, 0] = b[:, 0] = power(0)
    b[:, 1:] = power(-6)
    for row in range(ROWS):
        a[row, 1] = power(-row)
    a[ROWS, 1:] = power(-8)
    c = torch.zeros(64, N, device="cuda")
    bits = [from_dlpack(each.cuda(), assumed_align=16) for each in (a, b)]
    for each in bits:
        each.element_type = Float8E4M3FN
    host(*bits, from_dlpack(c, assumed_align=16))
    return {"summed": c[:KEPT], "lost": c[KEPT : ROWS + 1]}


def expected():
    summed = 1 + 2.0 ** -(6 + np.arange(KEPT))
    lost = np.ones((ROWS + 1 - KEPT, N), np.float32)
    return {"summed": np.repeat(summed[:, None], N, axis=1).astype(np.float32), "lost": lost}


if __name__ == "__main__":
    print(run())
