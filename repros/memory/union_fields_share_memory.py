# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""The fields of a cute.union share their memory: a Float32 stored in one is read as its bits through another.
Source: CuTe DSL documentation, union.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [1.0, -0.0, 3.5, -1e30]


@cute.union
class Word:
    number: cutlass.Float32
    bits: cutlass.Int32
    halves: cute.struct.MemRange[cutlass.Int16, 2]


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    word = cutlass.utils.SmemAllocator().allocate(Word)
    for i in cutlass.range_constexpr(len(VALUES)):
        word.number = x[i]
        out[0, i] = word.bits.ptr.load()
        out[1, i] = cutlass.Int32(word.halves[1])


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.float32, device="cuda")
    out = torch.full((2, len(VALUES)), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


def expected():
    x = np.array(VALUES, np.float32)
    return {"out": np.stack([x.view(np.int32), x.view(np.int16)[1::2].astype(np.int32)])}


if __name__ == "__main__":
    print(run())
