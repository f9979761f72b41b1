"""The truth of tested values: the same as in Python, and an error for values that are always true."""

import enum
import functools
import math

import numpy as np
import pytest

from dsl.core.control_flow.branches.truth_value import described, truth, truth_in_expression, truth_in_python
from dsl.core.errors import DSLUserCodeTypeError, DSLWarning
from dsl.cutlass import Constexpr, Float32, Int32, const_expr, cute
from dsl.layout import Layout


class Colour(enum.Enum):
    RED = 0


class Empty:
    def __len__(self):
        return 0


def named():
    return False


PLAIN = [None, False, True, 0, -1, 0.0, math.nan, "", "x", (), (0,), [], [0], {}, {0: 0}, set(), Colour.RED, Empty()]


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_are_true_as_in_python(value):
    assert truth(value) is bool(value) and truth_in_python(value) is bool(value)


CALL_IT = "call it, or if it can be None: `const_expr(f is not None)`"
LAYOUT = Layout((4, 8), (1, 4))
ALWAYS = [
    (named, "condition must be a number, got function `named`", CALL_IT),
    (len, "condition must be a number, got function `len`", CALL_IT),
    (Int32, "condition must be a number, got the type Int32", "compare it: `x is cutlass.Float32`"),
    (math, "condition must be a number, got the module math", "test a value of it"),
    (cute.jit(named), "condition must be a number, got function `named`", CALL_IT),
    (LAYOUT, "condition must be a number, got Layout (4,8):(1,4)", "ask `is not None`, or test a number of it"),
]


@pytest.mark.parametrize("value, message, fix", ALWAYS, ids=[row[1] for row in ALWAYS])
def test_values_that_are_always_true_are_refused(value, message, fix):
    with pytest.raises(DSLUserCodeTypeError) as error:
        truth(value)
    assert (error.value.message, error.value.fix) == (message, fix)


class Optional:
    def __init__(self, value):
        self.value = value


def twice(x):
    return x * 2


@cute.jit
def chosen(optional: Constexpr, x: Int32):
    """The choice of each expression, and of an `if` that is written as in the fix of the error."""
    f = optional.value
    in_if = False
    if const_expr(f is not None):
        in_if = True
    assert f or x.width == 32
    return Optional((1 if f else 0, 0 if not f else 1, len([1 for _ in (0,) if f]), int(bool(f)), int(in_if)))


OF_PYTHON = [
    twice, lambda x: x, len, functools.partial(twice, 1), "x".upper, cute.jit(named), cute.kernel(named),
    Optional, math, Optional(1), cute.nvgpu.CopyUniversalOp(), cute.nvgpu.CopyUniversalOp,
]  # fmt: skip


@pytest.mark.parametrize("value", [*OF_PYTHON, None], ids=lambda value: type(value).__name__)
def test_an_expression_chooses_by_an_object_of_python(value, recwarn):
    assert truth_in_expression(value) is truth_in_python(value) is (value is not None)
    choices = []
    cute.compile(cute.jit(lambda: choices.append(chosen(Optional(value), Int32(1)).value)))
    assert choices == [(int(value is not None),) * 5] and not recwarn.list


@pytest.mark.parametrize("value", [LAYOUT, Int32], ids=str)
def test_an_expression_refuses_what_is_always_true(value):
    with pytest.raises(DSLUserCodeTypeError, match="condition must be a number, got "):
        truth_in_expression(value)


@cute.jit
def forgets_the_call(x: Int32):
    return 1 if cute.arch.elect_one else 0


@cute.jit
def calls_where_it_is_there(x: Int32):
    return twice(x) if twice else x


def test_a_function_that_is_tested_and_never_called_gets_a_warning(recwarn):
    cute.compile(calls_where_it_is_there, 1)
    assert not recwarn.list
    cute.compile(forgets_the_call, 1)
    assert [str(one.message) for one in recwarn.list] == [
        "ALWAYS_TRUE: a condition that is function `elect_one` is always true (call it: `cute.arch.elect_one()`)"
    ]


class Refusing:
    def __bool__(self):
        raise ValueError("ask me something else")


VALUES = np.arange(4)


@cute.jit
def decides(how: Constexpr):
    if const_expr(how == "if"):
        if VALUES:
            print("true")
    elif const_expr(how == "and"):
        return VALUES and 1
    elif const_expr(how == "if else"):
        return 1 if VALUES else 2
    else:
        assert VALUES


@pytest.mark.parametrize("how", ["if", "and", "if else", "assert"])
def test_an_array_of_several_elements_has_no_truth(how):
    with pytest.raises(DSLUserCodeTypeError, match="must be one value, got ndarray") as error:
        decides(how)
    assert error.value.fix == "test one element, or ask the array: `.any()`, `.all()`"


def test_an_error_of_the_authors_own_is_not_of_an_array():
    with pytest.raises(ValueError, match="ask me something else"):
        truth(Refusing())


def test_without_a_decorator_it_is_true_with_a_warning_except_for_callbacks():
    with pytest.warns(DSLWarning) as told:
        assert truth_in_python(LAYOUT) is True
    assert [str(one.message) for one in told] == [
        "ALWAYS_TRUE: a condition that is Layout (4,8):(1,4) is always true (ask `is not None`, or test a number of it)"
    ]
    assert truth_in_python(named) is True and truth_in_python(functools.partial(named)) is True


def test_a_static_number_is_its_own_truth():
    assert truth(Int32(0)) is False and truth(Float32(0.5)) is True
    assert described((Int32(1),)) == "a tuple of dynamic numbers"
