# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { width = [8, 16, 32] }
# ///
"""shfl.sync.up with width w reads lane - b, and a lane that would leave its w-lane segment keeps its own value.
Source: PTX ISA, shfl.sync.

The clamp of `up` is 0 (the segment's first lane), not 31; shuffle_sync_up's default has it, a width needs it spelt.
Row b of `out` holds, for every lane, the lane it read with operand b.
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
    # CHECK-PTX(width=8): shfl.sync.up.b32 {{.*}}, 6144, -1;
    # CHECK-PTX(width=16): shfl.sync.up.b32 {{.*}}, 4096, -1;
    # CHECK-PTX(width=32): shfl.sync.up.b32 {{.*}}, 0, -1;
    for b in range(LANES):
        out[b, lane] = cute.arch.shuffle_sync_up(lane, b, mask_and_clamp=clamp)


@cute.jit
def host(out: cute.Tensor, clamp: cutlass.Constexpr):
    kernel(out, clamp).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def run(width):
    out = torch.full((LANES, LANES), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), (32 - width) << 8)
    return {"out": out}


def expected(width):
    b, lane = np.meshgrid(np.arange(LANES), np.arange(LANES), indexing="ij")
    segment = LANES - width
    source = lane - b
    first = lane & segment
    return {"out": np.where(source >= first, source, lane).astype(np.int32)}


if __name__ == "__main__":
    print(run(width=8))
