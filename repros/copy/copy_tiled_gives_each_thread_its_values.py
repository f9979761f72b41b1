# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""make_tiled_copy_tv: thread t of (4, 8) holds the 2 x 2 values at rows 2 (t / 8) and columns 2 (t % 8).
Source: CuTe, TiledCopy: thread and value layouts.

The thread layout is row-major and so is that of the values; each thread writes its number and which value it is.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, VALUES = (4, 8), (2, 2)
ROWS, COLUMNS = 8, 16


@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    threads = cute.make_layout(THREADS, stride=(8, 1))
    values = cute.make_layout(VALUES, stride=(2, 1))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Int32)
    mine = cute.make_tiled_copy_tv(atom, threads, values).get_slice(t).partition_D(out)
    held = cute.make_fragment_like(mine)
    for i in cutlass.range_constexpr(cute.size(held)):
        held[i] = t * 10 + i
    cute.copy(atom, held, mine)


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    out = torch.full((ROWS, COLUMNS), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    row, column = np.mgrid[:ROWS, :COLUMNS]
    thread = row // 2 * 8 + column // 2
    return {"out": (thread * 10 + row % 2 * 2 + column % 2).astype(np.int32)}


if __name__ == "__main__":
    print(run())
