# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`pointer + n` keeps the alignment that n allows: gcd for a static n, one element for a dynamic one.
Source: CuTe DSL, Pointer.alignment.

The alignment is a compile-time fact, known while tracing. From a 16-byte aligned Float32 pointer only multiples of 4
elements stay fit for a 128-bit copy; a dynamic `4 * n` does not, the factor is not looked at.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    p = src.iterator
    out[0] = p.alignment
    out[1] = (p + 1).alignment
    out[2] = (p + 2).alignment
    out[3] = (p + 4).alignment
    out[4] = (p - 4).alignment
    out[5] = (p + n).alignment
    out[6] = (p + 4 * n).alignment
    out[7] = cute.recast_ptr(p, dtype=cutlass.Uint8).alignment
    out[8] = p.align(64).alignment


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    kernel(src, out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    src = torch.zeros(32, dtype=torch.float32, device="cuda")
    out = torch.full((9,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(src, assumed_align=16), from_dlpack(out), 4)
    return {"out": out}


def expected():
    static = [np.gcd(16, 4 * abs(n)) for n in (1, 2, 4, -4)]
    return {"out": np.array([16, *static, 4, 4, 16, 64], np.int32)}


if __name__ == "__main__":
    print(run())
