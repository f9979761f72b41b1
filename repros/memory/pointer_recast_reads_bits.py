# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`recast_ptr` keeps the address and changes the element: loads reinterpret bits, offsets count the new size.
Source: CuTe DSL, recast_ptr.

Four Float32 are read again as Uint8, Int32 and Int64, little-endian. `distance` is the bytes from the start of
element 3.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [1.0, -2.5, 3.0e38, 0.0]


@cute.kernel
def kernel(src: cute.Tensor, bytes8: cute.Tensor, words: cute.Tensor, pairs: cute.Tensor, distance: cute.Tensor):
    p = src.iterator
    p8 = cute.recast_ptr(p, dtype=cutlass.Uint8)
    p32 = cute.recast_ptr(p, dtype=cutlass.Int32)
    p64 = cute.recast_ptr(p, dtype=cutlass.Int64)
    for i in cutlass.range_constexpr(16):
        bytes8[i] = (p8 + i).load()
    for i in cutlass.range_constexpr(4):
        words[i] = (p32 + i).load()
    for i in cutlass.range_constexpr(2):
        pairs[i] = (p64 + i).load()
    distance[0] = (p8 + 3).toint() - p.toint()
    distance[1] = (p32 + 3).toint() - p.toint()
    distance[2] = (p64 + 3).toint() - p.toint()


@cute.jit
def host(src: cute.Tensor, bytes8: cute.Tensor, words: cute.Tensor, pairs: cute.Tensor, distance: cute.Tensor):
    kernel(src, bytes8, words, pairs, distance).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    src = torch.tensor(VALUES, dtype=torch.float32, device="cuda")
    out = {
        "bytes": torch.zeros(16, dtype=torch.uint8, device="cuda"),
        "words": torch.zeros(4, dtype=torch.int32, device="cuda"),
        "pairs": torch.zeros(2, dtype=torch.int64, device="cuda"),
        "distance": torch.zeros(3, dtype=torch.int64, device="cuda"),
    }
    host(from_dlpack(src, assumed_align=16), *[from_dlpack(tensor) for tensor in out.values()])
    return out


def expected():
    raw = np.array(VALUES, "<f4").tobytes()
    return {
        "bytes": np.frombuffer(raw, "<u1"),
        "words": np.frombuffer(raw, "<i4"),
        "pairs": np.frombuffer(raw, "<i8"),
        "distance": np.array([3, 12, 24], np.int64),
    }


if __name__ == "__main__":
    print(run())
