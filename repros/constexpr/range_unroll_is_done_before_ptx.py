# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { unroll = [1, 4] }
# ///
"""`cutlass.range(n, unroll=4)` leaves four loads in one trip of the loop in PTX, unroll=1 leaves one.
Source: CuTe DSL, control flow (loop unrolling); measured of NVIDIA's compiler 4.8.1.

23 trips are five times four and a rest of three, so a loop for the rest runs too.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LENGTH = 23


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, unroll: cutlass.Constexpr):
    # CHECK-PTX(unroll=4)-COUNT-4: ld.global
    # CHECK-PTX(unroll=1)-COUNT-1: ld.global
    # CHECK-PTX-NOT: ld.global
    # CHECK-PTX: bra
    # CHECK-PTX(unroll=1)-NOT: ld.global
    total = 0
    for i in cutlass.range(n, unroll=unroll):
        total = total * 3 + x[i]
    # CHECK-PTX: st.global
    out[0] = total


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, unroll: cutlass.Constexpr):
    kernel(x, out, n, unroll).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run(unroll):
    x = torch.arange(LENGTH, dtype=torch.int32, device="cuda")
    out = torch.full((1,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out), LENGTH, unroll)
    return {"out": out}


def expected(unroll):
    powers = 3 ** np.arange(LENGTH - 1, -1, -1, dtype=np.int64)
    return {"out": np.array([(np.arange(LENGTH) * powers).sum()]).astype(np.int32)}


if __name__ == "__main__":
    print(run(4))
