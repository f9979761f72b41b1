"""Decorated functions inside functions: each is compiled by its own decorator's rules, with the variables around it."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


@pytest.mark.parametrize("n, expected", ((1, [1, 2]), (5, [15, 10])))
def test_jit_functions_inside_a_jit_function(n, expected):
    """Measured: NVIDIA's compiler prints these numbers."""

    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        m = n + 1

        @cute.jit
        def doubled(x):
            r = m
            if x > 3:
                r = x * 2
            return r

        if n > 0:

            @cute.jit
            def total(y):
                q = n
                for i in range(y):
                    q += i
                return q

            out[0] = total(n)
        out[1] = doubled(n)

    out = np.zeros(2, np.int32)
    host(from_dlpack(out), n)
    assert out.tolist() == expected


def test_early_exits_in_a_kernel_inside_a_jit_function():
    @cute.jit
    def host(out: cute.Tensor, n: cutlass.Int32):
        first = 7

        @cute.kernel
        def kernel(out: cute.Tensor, m: cutlass.Int32):
            for i in range(m):
                if i == 2:
                    break
                out[i] = i + first

        kernel(out, n).launch(grid=1, block=1)

    out = np.zeros(4, np.int32)
    host(from_dlpack(out), 4)
    assert out.tolist() == [7, 8, 0, 0]


def test_jit_function_inside_an_undecorated_one():
    def helper(n):
        @cute.jit
        def doubled(x):
            if x > 3:
                return x * 2
            return x

        if n > 100:
            return doubled(n) + 1
        return doubled(n)

    @cute.jit
    def host(n: cutlass.Int32):
        return helper(n)

    assert [host(n) for n in (1, 5, 101)] == [1, 10, 203]
