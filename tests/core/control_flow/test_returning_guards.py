"""The code after an early `return` of the traced function may change any list, dict or type:
nothing reads it afterwards."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


def ran(kernel, n: int) -> list[int]:
    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        kernel(out, n).launch(grid=1, block=1)

    out = np.zeros(3, np.int32)
    host(from_dlpack(out), n)
    return out.tolist()


@cute.kernel
def containers(out: cute.Tensor, n: Int32):
    xs, d = [n, n], {}
    if n > 3:
        return
    xs.pop()
    for i in cutlass.range_constexpr(3):
        xs.append(n + i)
    d["a"] = xs[3]
    if n == 1:
        out[2] = len(xs)
        return
    xs.clear()
    out[0], out[1], out[2] = d["a"], len(d), len(xs)


@cute.kernel
def types(out: cute.Tensor, n: Int32):
    x, ys = 1, (n,)
    if n > 3:
        return
    x = 2.5
    ys = ys + (n, n)
    out[0], out[1] = Int32(x * 2), len(ys)


@cute.jit
def returns(n: Int32):
    xs = [n]
    for i in range(n):
        if i == 2:
            return 7
    xs.append(n)
    xs.append(n + 1)
    if n == 1:
        return xs[2]
    xs.pop()
    return len(xs)


def helper(n):
    x = 1
    if n > 3:
        return 5
    x = 2.5
    return Int32(x) + n


@cute.jit
def calls(n: Int32):
    return helper(n)


@pytest.mark.parametrize(
    "kernel, n, expected",
    (
        (containers, 5, [0, 0, 0]),
        (containers, 2, [4, 1, 0]),
        (containers, 1, [0, 0, 4]),
        (types, 5, [0, 0, 0]),
        (types, 2, [5, 3, 0]),
    ),
)
def test_in_a_kernel(kernel, n, expected):
    assert ran(kernel, n) == expected


@pytest.mark.parametrize("function, values", ((returns, {3: 7, 1: 2, 2: 2}), (calls, {3: 5, 4: 5, 0: 2})))
def test_in_a_function_that_returns_numbers(function, values):
    assert {n: function(n) for n in values} == values


def grows(xs, n):
    if n > 3:
        return 0
    xs.append(n)
    return 1


@cute.jit
def caller_sees_it(n: Int32):
    xs = []
    grows(xs, n)
    return len(xs)


@cute.jit
def python_sees_it(n: Int32):
    xs = [n]
    if n > 3:
        return xs
    xs.append(n)
    return xs


@pytest.mark.parametrize("function", (caller_sees_it, python_sees_it))
def test_values_that_are_seen_afterwards_keep_their_structure(function):
    with pytest.raises(DSLUserCodeTypeError, match="`xs` holds . items on one path and . on another"):
        function(2)


@cute.kernel
def always_returns(out: cute.Tensor, n: Int32):
    v = n
    for c in cutlass.range_constexpr(2):
        for v in range(n):
            out[0] = v + 1
            return
        out[1] = 7
        return
    out[2] = v


@pytest.mark.parametrize("n, expected", ((0, [0, 7, 0]), (2, [1, 0, 0])))
def test_nothing_is_compiled_after_a_return_that_an_earlier_one_only_skips(n, expected):
    assert ran(always_returns, n) == expected
