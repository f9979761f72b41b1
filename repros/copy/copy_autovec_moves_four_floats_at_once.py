# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { align = [4, 16] }
# ///
"""autovec_copy of four Float32 is one 128-bit access where the tensor is known to be aligned to 16 bytes.
Source: CuTe DSL, autovec_copy.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 32


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    # CHECK-PTX(align=16): ld.global{{.*}}.v4
    # CHECK-PTX(align=16): st.global{{.*}}.v4
    # CHECK-PTX(align=4)-NOT: .v4
    held = cute.make_rmem_tensor((4,), cutlass.Float32)
    cute.autovec_copy(a[t, None], held)
    cute.autovec_copy(held, out[t, None])


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run(align):
    a = torch.arange(THREADS * 4, dtype=torch.float32, device="cuda").reshape(THREADS, 4)
    out = torch.full((THREADS, 4), -1.0, dtype=torch.float32, device="cuda")
    host(from_dlpack(a, assumed_align=align), from_dlpack(out, assumed_align=align))
    return {"out": out}


def expected(align):
    return {"out": np.arange(THREADS * 4, dtype=np.float32).reshape(THREADS, 4)}


if __name__ == "__main__":
    print(run(align=16))
