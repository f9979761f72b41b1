# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""Float32 to BFloat16 rounds to nearest, halves to even; it does not cut the low 16 bits off.
Source: PTX ISA, cvt.rn.bf16.f32.

The bits are 1, just below, at and above the half step over it, an odd half step of both signs,
the greatest Float32 (infinite), half of the least step, infinity.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

BITS = [0x3F800000, 0x3F807FFF, 0x3F808000, 0x3F808001, 0x3F818000, 0xBF818000, 0x7F7FFFFF, 0x00008000, 0x7F800000]


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = x[tid].to(cutlass.BFloat16)


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(len(BITS), 1, 1))


def run():
    x = torch.tensor(BITS, dtype=torch.int64, device="cuda").to(torch.uint32).view(torch.float32)
    out = torch.full((len(BITS),), -99.0, dtype=torch.bfloat16, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"bits": out.view(torch.uint16)}


def expected():
    bits = np.array(BITS, np.uint32)
    return {"bits": ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)}


if __name__ == "__main__":
    print(run())
