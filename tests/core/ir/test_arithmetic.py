"""Shifts in kernels by amounts at, past and far past the width, 64 bits wide: PTX ISA, shl and shr clamp."""

import torch

from dsl import cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

NUMBERS = [3, -5, 7, 1, -1, 9]
AMOUNTS = [1, 63, 64, 2**32, 2**62, 2**32 + 3]


@cute.kernel
def kernel(a: cute.Tensor, amounts: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    out[i, 0] = a[i] << amounts[i]
    out[i, 1] = cutlass.Int64(cutlass.Uint64(a[i]) >> cutlass.Uint64(amounts[i]))
    out[i, 2] = a[i] >> amounts[i]


@cute.jit
def host(a: cute.Tensor, amounts: cute.Tensor, out: cute.Tensor):
    kernel(a, amounts, out).launch(grid=1, block=6)


def test_64_bit_shifts_take_the_whole_amount():
    def signed(value):
        return (value + 2**63) % 2**64 - 2**63

    out = torch.zeros(6, 3, dtype=torch.int64)
    host(from_dlpack(torch.tensor(NUMBERS)), from_dlpack(torch.tensor(AMOUNTS)), from_dlpack(out))
    expected = [
        [signed(x << n) if n < 64 else 0, signed((x % 2**64) >> n) if n < 64 else 0, x >> min(n, 63)]
        for x, n in zip(NUMBERS, AMOUNTS)
    ]
    assert out.tolist() == expected
