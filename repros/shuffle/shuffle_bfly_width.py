# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { width = [8, 16, 32] }
# ///
"""shfl.sync.bfly with width w reads lane ^ b; past its segment it keeps its own value, before it it reads across.
Source: PTX ISA, shfl.sync.

Only the upper end is checked (lane ^ b <= the segment's last lane), so a lane can read an earlier segment, never a
later one. Row b of `out` holds, for every lane, the lane it read with operand b.
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
    # CHECK-PTX(width=8): shfl.sync.bfly.b32 {{.*}}, 6175, -1;
    # CHECK-PTX(width=16): shfl.sync.bfly.b32 {{.*}}, 4127, -1;
    # CHECK-PTX(width=32): shfl.sync.bfly.b32 {{.*}}, 31, -1;
    for b in range(LANES):
        out[b, lane] = cute.arch.shuffle_sync_bfly(lane, b, mask_and_clamp=clamp)


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
    source = lane ^ b
    last = (lane & segment) | (31 & ~segment)
    return {"out": np.where(source <= last, source, lane).astype(np.int32)}


if __name__ == "__main__":
    print(run(width=8))
