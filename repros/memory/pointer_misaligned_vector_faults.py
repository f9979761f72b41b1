# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_70"
# outcome = "misaligned"
# ///
"""A pointer that is said to be aligned to 16 bytes and is not: the 128-bit store through it faults.
Source: PTX ISA, st: the address must be a multiple of the access's size.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Int32):
    # CHECK-PTX: st.global{{.*}}.v4
    held = cute.make_rmem_tensor((4,), cutlass.Float32)
    held.fill(1.0)
    p = cute.make_ptr(cutlass.Float32, x.iterator.toint() + n, cute.AddressSpace.gmem, assumed_align=16)
    cute.autovec_copy(held, cute.make_tensor(p, cute.make_layout(4)))


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    kernel(x, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.zeros(128, dtype=torch.float32, device="cuda")
    host(from_dlpack(x), 4)
    return {"x": x}


if __name__ == "__main__":
    print(run())
