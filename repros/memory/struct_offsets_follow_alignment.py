# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A field of a cute.struct starts at the next multiple of its alignment, as in C; Align raises the alignment.
Source: CuTe DSL documentation, struct (Align, MemRange, __sizeof__).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.struct
class Pair:
    left: cutlass.Int8
    right: cutlass.Float32


@cute.struct
class Shared:
    flag: cutlass.Int8
    wide: cutlass.Int64
    tile: cute.struct.MemRange[cutlass.Float16, 3]
    pair: Pair
    aligned: cute.struct.Align[cutlass.Int16, 64]
    last: cutlass.Int8


@cute.kernel
def kernel(out: cute.Tensor):
    shared = cutlass.utils.SmemAllocator().allocate(Shared)
    start = shared.base.toint()
    out[0] = shared.flag.ptr.toint() - start
    out[1] = shared.wide.ptr.toint() - start
    out[2] = shared.tile.data_ptr().toint() - start
    out[3] = shared.pair.left.ptr.toint() - start
    out[4] = shared.pair.right.ptr.toint() - start
    out[5] = shared.aligned.ptr.toint() - start
    out[6] = shared.last.ptr.toint() - start
    out[7] = Shared.size_in_bytes()
    out[8] = start % 64


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((9,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}


def expected():
    pair = np.dtype({"names": ["left", "right"], "formats": ["i1", "f4"]}, align=True)
    before = np.dtype([("flag", "i1"), ("wide", "i8"), ("tile", "f2", 3), ("pair", pair)], align=True)
    starts = [before.fields[name][1] for name in ("flag", "wide", "tile", "pair")]
    aligned = -(-before.itemsize // 64) * 64
    return {
        "out": np.array([*starts, starts[3] + pair.fields["right"][1], aligned, aligned + 2, 2 * aligned, 0], np.int32)
    }


if __name__ == "__main__":
    print(run())
