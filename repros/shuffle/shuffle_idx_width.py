# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { width = [8, 16, 32] }
# ///
"""shfl.sync.idx with width w wraps the lane it is asked for into the reader's own w-lane segment.
Source: PTX ISA, shfl.sync.

Operand b keeps only its low log2(w) bits; the segment's number comes from the reading lane, so no lane is out of
range. Row b of `out` holds, for every lane, the lane it read with operand b.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LANES = 32


@cute.kernel
def kernel(out: cute.Tensor, clamp: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    # CHECK-PTX(width=8): shfl.sync.idx.b32 {{.*}}, 6175, -1;
    # CHECK-PTX(width=16): shfl.sync.idx.b32 {{.*}}, 4127, -1;
    # CHECK-PTX(width=32): shfl.sync.idx.b32 {{.*}}, 31, -1;
    for b in cutlass.range_constexpr(LANES):
        out[b, lane] = cute.arch.shuffle_sync(lane, b, mask_and_clamp=clamp)


@cute.jit
def host(out: cute.Tensor, clamp: cutlass.Constexpr):
    kernel(out, clamp).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def run(width):
    out = torch.full((LANES, LANES), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), ((32 - width) << 8) | 31)
    return {"out": out}


def expected(width):
    b, lane = np.meshgrid(np.arange(LANES), np.arange(LANES), indexing="ij")
    segment = LANES - width
    source = (lane & segment) | (b & ~segment)
    return {"out": source.astype(np.int32)}


if __name__ == "__main__":
    print(run(width=8))
