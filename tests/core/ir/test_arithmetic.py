"""Arithmetic on SSA values: shifts by any amount (PTX ISA, shl and shr clamp), quotients and remainders of every sign."""

import torch

from dsl import cutlass
from dsl.core.ir import arithmetic
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


# --- division and remainder as in Python, for numbers of any sign ----------------------------------------------------

INT32 = [0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31)]


@cute.kernel
def divisions(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x, y = a[i].ir(), b[i].ir()
    quotient, remainder = arithmetic.divide_truncating(x, y, True)
    floored, modulo = arithmetic.divide_floor(x, y, True), arithmetic.modulo_floor(x, y, True)
    unsigned, rest = arithmetic.divide_truncating(x, y, False)
    size, less = arithmetic.absolute(x, True), arithmetic.compare("lt", x, y, False)
    for k, value in enumerate((quotient, remainder, floored, modulo, unsigned, rest, size, arithmetic.negate(x))):
        out[i, k] = cutlass.Int32(value)
    out[i, 8] = cutlass.Int32(cutlass.Boolean(less))


@cute.jit
def all_divisions(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    divisions(a, b, out).launch(grid=1, block=81)


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def truncated(x: int, y: int) -> tuple[int, int]:
    """Quotient and remainder of C; by zero all ones and `x`, as the PTX ISA has it on GPUs."""
    if y == 0:
        return -1, x
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return wrapped(quotient), x - quotient * y


def test_quotients_and_remainders_of_every_sign():
    pairs = [(x, y) for x in INT32 for y in INT32]
    a, b = (torch.tensor(column, dtype=torch.int32) for column in zip(*pairs))
    out = torch.zeros(len(pairs), 9, dtype=torch.int32)
    all_divisions(from_dlpack(a), from_dlpack(b), from_dlpack(out))
    for (x, y), row in zip(pairs, out.tolist()):
        ux, uy = x % 2**32, y % 2**32
        floors = (wrapped(x // y), x % y) if y else (-1, x)
        unsigned = (ux // uy, ux % uy) if uy else (-1, ux)
        wanted = [*truncated(x, y), *floors, *map(wrapped, unsigned), wrapped(abs(x)), wrapped(-x), ux < uy]
        assert row == wanted, (x, y)
