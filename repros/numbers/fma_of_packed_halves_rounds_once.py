# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_53"
# ///
"""fma_packed_f16x2 rounds a product and its sum once; a product and then a sum round twice.
Source: PTX ISA, fma.rn.f16x2.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

A = [1.0009765625, 255.875, 0.1]  # 1 + 2**-10
C = [-1.001953125, -65472.0, -0.01]


@cute.kernel
def kernel(a: cute.Tensor, c: cute.Tensor, once: cute.Tensor, twice: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    # CHECK-PTX: fma.rn.f16x2
    low, high = cute.arch.fma_packed_f16x2((a[tid], a[tid]), (a[tid], a[tid]), (c[tid], c[tid]))
    once[tid, 0], once[tid, 1] = low, high
    square = (a[tid].to(cutlass.Float32) * a[tid].to(cutlass.Float32)).to(cutlass.Float16)
    twice[tid] = (square.to(cutlass.Float32) + c[tid].to(cutlass.Float32)).to(cutlass.Float16)


@cute.jit
def host(a: cute.Tensor, c: cute.Tensor, once: cute.Tensor, twice: cute.Tensor):
    kernel(a, c, once, twice).launch(grid=(1, 1, 1), block=(len(A), 1, 1))


def run():
    a, c = (torch.tensor(values, dtype=torch.float16, device="cuda") for values in (A, C))
    once = torch.zeros(len(A), 2, dtype=torch.float16, device="cuda")
    twice = torch.zeros(len(A), dtype=torch.float16, device="cuda")
    host(*map(from_dlpack, (a, c, once, twice)))
    return {"once": once, "twice": twice}


def expected():
    a, c = (np.array(values, np.float16).astype(np.float64) for values in (A, C))
    once = (a * a + c).astype(np.float16)
    twice = ((a * a).astype(np.float16).astype(np.float64) + c).astype(np.float16)
    return {"once": np.stack([once, once], 1), "twice": twice}


if __name__ == "__main__":
    print(run())
