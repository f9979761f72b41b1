# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { relu = [true, false] }
# ///
"""A ReLU epilogue guarded by a Constexpr leaves no trace in PTX when it is off.
Source: CuTe DSL, control flow (Compile-Time Metaprogramming).

Compiled from fake tensors of unknown length; the last block is partial.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor

SIZE, THREADS = 200, 64


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor, relu: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + tid
    # CHECK-PTX: ld.global
    # CHECK-PTX(relu=True): max.f32
    # CHECK-PTX(relu=False)-NOT: max.f32
    # CHECK-PTX: st.global
    if i < x.shape[0]:
        y = x[i] * 2.0 + 1.0
        if cutlass.const_expr(relu):
            y = cute.arch.fmax(y, 0.0)
        out[i] = y


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, relu: cutlass.Constexpr):
    kernel(x, out, relu).launch(grid=(cute.ceil_div(x.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1))


def run(relu):
    n = cute.sym_int()
    fake = make_fake_compact_tensor(cutlass.Float32, (n,))
    compiled = cute.compile(host, fake, fake, relu)
    x = torch.arange(SIZE, dtype=torch.float32, device="cuda") - 100
    out = torch.full_like(x, -1.0)
    compiled(from_dlpack(x).mark_layout_dynamic(), from_dlpack(out).mark_layout_dynamic())
    return {"out": out}


def expected(relu):
    y = (np.arange(SIZE, dtype=np.float32) - 100) * 2 + 1
    return {"out": np.where(y > 0, y, 0).astype(np.float32) if relu else y}


if __name__ == "__main__":
    print(run(relu=True))
