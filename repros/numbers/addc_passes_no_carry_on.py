# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""cute.arch.addc takes the carry flag and does not write it: of three words added the third has the first one's carry.
Source: PTX ISA, addc (without .cc the condition code is not modified).

Two words are right: add_cc, then addc.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

A = [1, 0xFFFFFFFF, 5]  # the first sum carries nothing, the second does
B = [2, 1, 7]


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, three: cute.Tensor, two: cute.Tensor):
    # CHECK-PTX: add.cc.u32
    # CHECK-PTX: addc.u32
    # CHECK-PTX: addc.u32
    three[0] = cute.arch.add_cc(a[0], b[0])
    three[1] = cute.arch.addc(a[1], b[1])
    three[2] = cute.arch.addc(a[2], b[2])
    two[0] = cute.arch.add_cc(a[1], b[1])
    two[1] = cute.arch.addc(a[2], b[2])


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, three: cute.Tensor, two: cute.Tensor):
    kernel(a, b, three, two).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    a, b = (torch.tensor(words, dtype=torch.int64, device="cuda").to(torch.uint32) for words in (A, B))
    three, two = (torch.zeros(count, dtype=torch.uint32, device="cuda") for count in (3, 2))
    host(*map(from_dlpack, (a, b, three, two)))
    return {"three": three, "two": two}


def expected():
    return {"three": np.array([3, 0, 12], np.uint32), "two": np.array([0, 13], np.uint32)}


if __name__ == "__main__":
    print(run())
