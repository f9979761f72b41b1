"""`nonlocal` in functions inside a traced one: which Python runs, and which a dynamic statement decides."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Int32, const_expr, cute, range_constexpr
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session


def value_of(host, n):
    out = np.zeros(1, np.int32)
    session.start("emulator")
    try:
        host(from_dlpack(out), n)
    finally:
        session.stop()
    return int(out[0])


@cute.jit
def summed(out: cute.Tensor, n: Int32):
    total, calls = n, 0

    def add(v):
        nonlocal total, calls
        calls += 1
        total = total + v
        return total

    def twice(v):
        add(v)
        add(v)

    for i in range_constexpr(3):
        twice(i)
    if const_expr(calls == 6):
        add(100)
    if n > 1:
        out[0] = total * 10 + calls
    else:
        out[0] = -total


@cute.jit
def factorial(out: cute.Tensor, n: Int32):
    def made():
        product = 1

        def times(v):
            nonlocal product
            product *= v

        for i in range_constexpr(1, 5):
            times(i)
        return product

    if n > 1:
        out[0] = made() + n
    else:
        out[0] = made()


def test_values_are_pythons():
    """The values that NVIDIA's compiler gives; `made` may run under a condition, since its variable is its own."""
    assert [value_of(summed, n) for n in (0, 2, 5)] == [-106, 1087, 1117]
    assert [value_of(factorial, n) for n in (1, 3)] == [24, 27]


@cute.jit
def counted(out: cute.Tensor, n: Int32):
    total = n

    def add(v):
        nonlocal total
        total = total + v

    def twice(v):
        add(v)
        add(v)

    for i in range(n):
        twice(i)
    out[0] = total


@cute.jit
def passed_on(out: cute.Tensor, n: Int32):
    total = n

    def add(v):
        nonlocal total
        total = total + v

    apply = add
    if n > 1:
        apply(n)
    out[0] = total


@cute.jit
def inner_if(out: cute.Tensor, n: Int32):
    total = n

    def add(v):
        nonlocal total
        if v > 2:
            total = total + v

    add(n)
    out[0] = total


def around():
    kept = 0

    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        nonlocal kept
        kept = 1

    return host


DECIDED = "`add` rebinds `total`, but a dynamic statement decides whether it runs"


FIX = "return `total` and assign it there: `total = add(...)`"


@pytest.mark.parametrize(
    "host, message, fix, id",
    [
        (counted, DECIDED, FIX, "SCOPE_CLOSURE_CAPTURE"),
        (passed_on, DECIDED, FIX, "SCOPE_CLOSURE_CAPTURE"),
        (
            inner_if,
            "`add` rebinds `total` and has a dynamic statement in it",
            "return `total` and assign it outside",
            "UNSUP_NONLOCAL",
        ),
        (
            around(),
            "`nonlocal` cannot be compiled: a kernel cannot rebind outside names",
            "return the value and assign it outside",
            "UNSUP_NONLOCAL",
        ),
    ],
)
def test_changes_that_a_dynamic_statement_would_not_see_are_refused(host, message, fix, id):
    with pytest.raises(DSLUserCodeError) as error:
        value_of(host, 3)
    assert (error.value.message, error.value.fix, error.value.id) == (message, fix, id)
    assert error.value.place.file == __file__
