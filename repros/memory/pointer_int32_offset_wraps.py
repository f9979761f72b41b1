# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""An offset computed in Int32 wraps at 2^31 before it reaches the pointer; the same product in Int64 does not.
Source: CuTe DSL, Integer types.

`row * stride` is an Int32 product: 50000 * 50000 elements become an offset of -1794967296. Nothing is read; `out`
holds distances in bytes of Int8 elements.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

ROWS = [46340, 46341, 50000, 65536]


@cute.kernel
def kernel(src: cute.Tensor, rows: cute.Tensor, wrapped: cute.Tensor, wide: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    p = src.iterator
    row = rows[tid]
    wrapped[tid] = (p + row * row).toint() - p.toint()
    wide[tid] = (p + cutlass.Int64(row) * row).toint() - p.toint()


@cute.jit
def host(src: cute.Tensor, rows: cute.Tensor, wrapped: cute.Tensor, wide: cute.Tensor):
    kernel(src, rows, wrapped, wide).launch(grid=(1, 1, 1), block=(len(ROWS), 1, 1))


def run():
    src = torch.zeros(4, dtype=torch.int8, device="cuda")
    rows = torch.tensor(ROWS, dtype=torch.int32, device="cuda")
    wrapped = torch.full((len(ROWS),), -1, dtype=torch.int64, device="cuda")
    wide = torch.full((len(ROWS),), -1, dtype=torch.int64, device="cuda")
    host(from_dlpack(src), from_dlpack(rows), from_dlpack(wrapped), from_dlpack(wide))
    return {"wrapped": wrapped, "wide": wide}


def expected():
    wide = np.array(ROWS, np.int64) ** 2
    return {"wrapped": wide.astype(np.int32).astype(np.int64), "wide": wide}


if __name__ == "__main__":
    print(run())
