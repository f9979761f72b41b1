# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""mask_and_clamp=15 is not width 16: with no segment mask, lanes 16..31 keep their own value.
Source: PTX ISA, shfl.sync (c holds the clamp in bits 4:0 and the segment mask in bits 12:8).

Both forms shuffle down by one. With the segment mask 0x10 lanes 16..30 read their neighbour; without it every lane
above 15 is out of range, and nothing warns.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LANES = 32


@cute.kernel
def kernel(clamped: cute.Tensor, segmented: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    # CHECK-PTX: shfl.sync.down.b32 {{.*}}, 1, 15, -1;
    clamped[lane] = cute.arch.shuffle_sync_down(lane, 1, mask_and_clamp=15)
    # CHECK-PTX: shfl.sync.down.b32 {{.*}}, 1, 4127, -1;
    segmented[lane] = cute.arch.shuffle_sync_down(lane, 1, mask_and_clamp=(16 << 8) | 31)


@cute.jit
def host(clamped: cute.Tensor, segmented: cute.Tensor):
    kernel(clamped, segmented).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def run():
    clamped = torch.full((LANES,), -1, dtype=torch.int32, device="cuda")
    segmented = torch.full((LANES,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(clamped), from_dlpack(segmented))
    return {"clamped": clamped, "segmented": segmented}


def expected():
    lane = np.arange(LANES, dtype=np.int32)
    return {
        "clamped": np.where(lane < 15, lane + 1, lane).astype(np.int32),
        "segmented": np.where(lane % 16 < 15, lane + 1, lane).astype(np.int32),
    }


if __name__ == "__main__":
    print(run())
