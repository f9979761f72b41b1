# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Float32 to Int4 goes by 16 bits, which saturate, and of these takes the low 4, which wrap: 9.0 is -7, 1e5 is -1.
Source: PTX ISA, cvt.rzi.s16.f32 (saturation of integer types).

Int8 and the wider types saturate at their own ends.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = [1.9, -1.9, 7.0, 8.0, 9.0, -9.0, 16.0, 1e5, -1e5, 100.0, float("nan"), 0.0, 3.0, -8.0, 15.0, 2.5]


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    out.store(x.load().to(cutlass.Int4).to(cutlass.Int32))


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    kernel(x, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    x = torch.tensor(VALUES, dtype=torch.float32, device="cuda")
    out = torch.full((len(VALUES),), 99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


def expected():
    whole = np.trunc(np.nan_to_num(np.array(VALUES), nan=0.0)).clip(-32768, 32767).astype(np.int32)
    return {"out": (whole + 8) % 16 - 8}


if __name__ == "__main__":
    print(run())
