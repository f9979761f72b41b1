# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# nvidia = { rejected = "CALL_OUTSIDE_JIT" }
# ///
"""Layouts are made, composed and asked for coordinates in plain Python, outside any jit function.
Source: the layout algebra is Python over integers; NVIDIA's compiler 4.8.1 refuses it (CALL_OUTSIDE_JIT), measured.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 32


@cute.kernel
def kernel(out: cute.Tensor, place: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = place(tid)


@cute.jit
def host(out: cute.Tensor, place: cutlass.Constexpr):
    kernel(out, place).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run():
    rows = cute.make_layout((4, 8), stride=(8, 1))
    every_other = cute.composition(rows, cute.make_layout((2, 16), stride=(16, 1)))
    out = torch.full((THREADS,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), every_other)
    in_python = np.array([every_other(i) for i in range(cute.size(every_other))], np.int32)
    return {"out": out, "in_python": in_python}


def expected():
    i = np.arange(THREADS)
    index = i % 2 * 16 + i // 2
    found = (index % 4 * 8 + index // 4).astype(np.int32)
    return {"out": found, "in_python": found}


if __name__ == "__main__":
    print(run())
