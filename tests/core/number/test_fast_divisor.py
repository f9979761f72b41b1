"""FastDivmod: quotients and remainders of 32-bit unsigned numbers, as measured at NVIDIA's compiler,
wherever it goes."""

import dataclasses

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

# dividend, divisor: quotient, remainder; measured, release 4.8.1
MEASURED = {
    (7, 3): (2, 1),
    (-7, 3): (1431655763, 0),
    (7, -3): (0, 7),
    (7, 1): (7, 0),
    (2147483647, 7): (306783378, 1),
    (-1, 5): (858993459, 0),
    (-2147483648, 3): (715827882, 2),
    (100, 2147483647): (0, 100),
    (0, 3): (0, 0),
}


@pytest.mark.parametrize("dividend, divisor", MEASURED)
def test_values_are_upstreams(dividend, divisor):
    @cute.jit
    def program(a: cutlass.Int32, d: cutlass.Int32):
        by = cute.fast_divmod_create_divisor(d)
        quotient, remainder = divmod(a, by)
        return (
            quotient,
            remainder,
            a // by,
            a % by,
            divmod(cutlass.Int64(a) + (1 << 33), by)[0],
            divmod(dividend, by)[1],
        )

    quotient, remainder = MEASURED[dividend, divisor]
    assert program(dividend, divisor) == (quotient, remainder, quotient, remainder, quotient, remainder)


def test_a_kernel_takes_it_and_a_loop_carries_it():
    @dataclasses.dataclass
    class Params:
        by: cute.FastDivmodDivisorV2
        offset: cutlass.Int32

    @cute.kernel
    def kernel(out: cute.Tensor, params: Params):
        t, _, _ = cute.arch.thread_idx()
        by, total = params.by, params.offset
        for i in range(3):
            total += t // by + t % by * 100
            by = cute.FastDivmodDivisorV2(by.divisor + i)
        out[t] = total

    @cute.jit
    def host(out: cute.Tensor, d: cutlass.Int32):
        kernel(out, Params(cute.fast_divmod_create_divisor_v2(d), 1)).launch(grid=1, block=16)

    def python(t, d):
        total = 1
        for i in range(3):
            total += t // d + t % d * 100
            d += i
        return total

    out = np.zeros(16, np.int32)
    host(from_dlpack(out), 5)
    assert out.tolist() == [python(t, 5) for t in range(16)]


@pytest.mark.parametrize("value, text", [(0, "a divisor is not 0"), (1.5, "divisor must be an integer, got 1.5")])
def test_invalid_divisors_are_refused(value, text):
    def host():
        cute.fast_divmod_create_divisor(value)

    with pytest.raises(cutlass.DSLUserCodeError, match=text):
        cute.jit(host)()
