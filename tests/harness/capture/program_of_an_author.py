"""A program with three calls of a kernel, for the tests of capture."""

import sys

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SCALE = 3.0
TOKEN = "not-reached"


def helper(x):
    return x * SCALE


@cute.kernel
def scale_kernel(a: cute.Tensor, b: cute.Tensor, n: cutlass.Int32):
    i = cute.arch.thread_idx()[0] + cute.arch.block_idx()[0] * 64
    if i < n:
        b[i] = helper(a[i])


@cute.jit
def scale(a: cute.Tensor, b: cute.Tensor, n: cutlass.Int32):
    scale_kernel(a, b, n).launch(grid=((n + 63) // 64, 1, 1), block=(64, 1, 1))


@cute.kernel
def beyond_kernel(a: cute.Tensor):
    a[1 << 20] = cutlass.Float32(1)


@cute.jit
def beyond(a: cute.Tensor):
    beyond_kernel(a).launch(grid=(1, 1, 1), block=(1, 1, 1))


class Scaled:
    def __init__(self, times: int):
        self.times = times

    @cute.jit
    def __call__(self, a: cute.Tensor, n: cutlass.Int32):
        for _ in cutlass.range_constexpr(self.times):
            scale(a, a, n)

    def unused(self):
        return TOKEN


def main():
    torch.manual_seed(0)
    for _ in range(3):
        a = torch.randn(100, device="cuda")
        b = torch.zeros(128, device="cuda")[14:114]
        scale(from_dlpack(a), from_dlpack(b, assumed_align=4).mark_layout_dynamic(), 100)
    kernel = Scaled(2)
    compiled = cute.compile(kernel, from_dlpack(a), 1)
    compiled(from_dlpack(b), 50)
    if "beyond" in sys.argv:
        beyond(from_dlpack(torch.zeros(4, device="cuda")).mark_layout_dynamic())


if __name__ == "__main__":
    main()
