# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
""">> shifts copies of the sign into an Int32, zeros into a Uint32, and past 31 places everything out.
Source: PTX ISA, shr: .s32 fills with the sign bit, .u32 with zeros; amounts above 32 are clamped to 32.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [-8, -1, 8, -(2**31), 2**31 - 1]
AMOUNTS = [1, 4, 1, 31, 33]


@cute.kernel
def kernel(x: cute.Tensor, u: cute.Tensor, by: cute.Tensor, signed: cute.Tensor, unsigned: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    signed[tid] = x[tid] >> by[tid]
    unsigned[tid] = u[tid] >> by[tid].to(cutlass.Uint32)


@cute.jit
def host(x: cute.Tensor, u: cute.Tensor, by: cute.Tensor, signed: cute.Tensor, unsigned: cute.Tensor):
    kernel(x, u, by, signed, unsigned).launch(grid=(1, 1, 1), block=(len(VALUES), 1, 1))


def run():
    x, by = (torch.tensor(values, dtype=torch.int32, device="cuda") for values in (VALUES, AMOUNTS))
    signed, unsigned = (torch.full((len(VALUES),), -99, dtype=torch.int32, device="cuda") for _ in range(2))
    unsigned = unsigned.view(torch.uint32)
    host(*map(from_dlpack, (x, x.view(torch.uint32), by, signed, unsigned)))
    return {"signed": signed, "unsigned": unsigned}


def expected():
    signed = np.array([value >> by for value, by in zip(VALUES, AMOUNTS)], np.int32)
    unsigned = np.array([value % 2**32 >> by for value, by in zip(VALUES, AMOUNTS)], np.uint32)
    return {"signed": signed, "unsigned": unsigned}


if __name__ == "__main__":
    print(run())
