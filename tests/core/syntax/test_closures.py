"""Functions inside functions read the variables of the function around them, as they are when they are called."""

import warnings

import pytest

from dsl.core.errors import DSLUserCodeError, DSLWarning, PortabilityWarning
from dsl.core.number.dtypes import Int32
from dsl.cutlass import cute

OFFSET = 3


@cute.jit
def changed_in_a_loop(n: Int32):
    k, total = Int32(1), Int32(0)

    def plus(x):
        return x + k

    for i in range(n):
        k = k + i
        total += plus(i)
    return total, k, plus(0)


@cute.jit
def changed_in_branches(n: Int32):
    k, seen = n, Int32(0)

    @cute.jit
    def plus(x):
        return x + k

    if n > 2:
        k += 10
        seen = plus(1)
    else:
        k -= 10
        seen = plus(2)
    return seen, plus(0), k


@cute.jit
def another_list_each_trip(n: Int32):
    values, total = [n], Int32(0)

    def first(x):
        return values[0] + x

    while values[0] < 9:
        values = [values[0] + 3]
        total += first(1)
        if total > 20:
            break
    return total, values[0], first(0)


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
@pytest.mark.parametrize("n", (0, 1, 3, 7))
def test_a_function_reads_what_a_dynamic_statement_assigns(n):
    k = 1 + sum(range(n))
    assert changed_in_a_loop(n) == (sum(i + 1 + i * (i + 1) // 2 for i in range(n)), k, k)
    k = n + 10 if n > 2 else n - 10
    assert changed_in_branches(n) == (k + (1 if n > 2 else 2), k, k)
    value, total = n, 0
    while value < 9:
        value += 3
        total += value + 1
        if total > 20:
            break
    assert another_list_each_trip(n) == (total, value, value)


def warned(function, category) -> list[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cute.compile(cute.jit(function), 3)
    return [
        (str(warning.message), warning.lineno - function.__code__.co_firstlineno)
        for warning in caught
        if warning.category is category
    ]


def test_a_call_of_a_function_with_variables_is_warned_of():
    """Measured: NVIDIA's compiler rejects a call by name in a dynamic statement outside of which the function is
    defined, where it reads variables, and takes one that reads functions and modules."""

    def program(n: Int32):
        import math

        def bare(x):
            return x + math.floor(2.5) + OFFSET

        def through(x):
            return bare(x)

        def reads(x):
            return x + n

        total, functions = reads(n), [reads]
        for i in range(n):
            total += through(i) + functions[0](i)
            if i > 1:
                total += reads(i)
        while reads(total) < 9:

            def inside(x):
                return x + n

            total += inside(1)
        if reads(total) > 3:
            total += 1
        return total

    text = (
        "`reads` reads `n` of the function around it and is called in a dynamic statement: NVIDIA's compiler "
        "rejects that (SCOPE_CLOSURE_CAPTURE)"
    )
    assert warned(program, PortabilityWarning) == [(text, 16), (text, 17)]


def test_a_call_of_a_function_with_variables_where_warnings_are_errors():
    def program(n: Int32):
        def reads(x):
            return x + n

        for i in range(n):
            reads(i)

    with warnings.catch_warnings(), pytest.raises(DSLUserCodeError) as caught:
        warnings.simplefilter("error", PortabilityWarning)
        cute.compile(cute.jit(program), 3)
    line = program.__code__.co_firstlineno + 5
    assert caught.value.id == "SCOPE_CLOSURE_CAPTURE" and caught.value.place.line == line
    assert str(caught.value).splitlines()[1:] == [
        "    reads(i)",
        "    ^^^^^^^^ `reads` reads `n` of the function around it and is called in a dynamic statement, which NVIDIA's "
        "compiler rejects",
        "fix: pass `n` as an argument, or define `reads` in the statement",
    ]


@cute.jit
def lambda_from_before(n: Int32):
    k, total = n, Int32(0)
    plus = lambda x: x + k
    while k < 10:
        k += 2
        total += plus(1)
    return total, plus(0)


def test_a_lambda_reads_the_value_from_before_the_statement():
    """Measured: with 3 NVIDIA's compiler gives 16 and 11; Python's lambda would give 36."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert lambda_from_before(3) == (16, 11)
    assert [str(warning.message) for warning in caught if warning.category is DSLWarning] == [
        "SCOPE_CLOSURE_CAPTURE: `plus` reads `k`, which this statement assigns, as it was before the statement: pass "
        "`k` as an argument"
    ]
    assert not [warning for warning in caught if warning.category is PortabilityWarning]


def test_a_lambda_in_a_loop_makes_its_variable_no_late_name():
    def program(n: Int32):
        total = Int32(0)
        for i in range(n):
            times = lambda x: x * i
            total += times(2)
        return total

    assert warned(program, PortabilityWarning) == []
    assert cute.jit(program)(4) == 12
