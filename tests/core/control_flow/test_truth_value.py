"""The truth of tested values: Python's, and an error for what is true whatever it holds."""

import enum
import functools
import math

import numpy as np
import pytest

from dsl.core.control_flow.truth_value import described, truth, truth_in_python
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
def test_what_python_decides_stays_pythons(value):
    assert truth(value) is bool(value) and truth_in_python(value) is bool(value)


LAYOUT = Layout((4, 8), (1, 4))
ALWAYS = [
    (named, "condition must be a number, got function `named`", "call it, or ask `is not None`"),
    (len, "condition must be a number, got function `len`", "call it, or ask `is not None`"),
    (Int32, "condition must be a number, got the type Int32", "compare it: `x is cutlass.Float32`"),
    (math, "condition must be a number, got the module math", "test a value of it"),
    (cute.jit(named), "condition must be a number, got function `named`", "call it, or ask `is not None`"),
    (LAYOUT, "condition must be a number, got Layout (4,8):(1,4)", "ask `is not None`, or test a number of it"),
]


@pytest.mark.parametrize("value, message, fix", ALWAYS, ids=[row[1] for row in ALWAYS])
def test_what_is_always_true_is_refused(value, message, fix):
    with pytest.raises(DSLUserCodeTypeError) as error:
        truth(value)
    assert (error.value.message, error.value.fix) == (message, fix)


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


def test_without_a_decorator_it_is_true_with_a_warning_but_for_callbacks():
    with pytest.warns(DSLWarning) as told:
        assert truth_in_python(LAYOUT) is True
    assert [str(one.message) for one in told] == [
        "ALWAYS_TRUE: a condition that is Layout (4,8):(1,4) is always true (ask `is not None`, or test a number of it)"
    ]
    assert truth_in_python(named) is True and truth_in_python(functools.partial(named)) is True


def test_a_static_number_is_its_own_truth():
    assert truth(Int32(0)) is False and truth(Float32(0.5)) is True
    assert described((Int32(1),)) == "a tuple of dynamic numbers"
