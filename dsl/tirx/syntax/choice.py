"""Choices: `a if c else b`, T.if_then_else, T.Select, `and`, `or`, `not`. A value that is not chosen is not loaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dsl.core.control_flow import statements
from dsl.core.control_flow.branches.merge import Scratch
from dsl.core.control_flow.loops.speculation import Attempt
from dsl.core.control_flow.statements import Name
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic, numeric
from dsl.core.number.operators import operate, select as select_number
from dsl.span import here
from dsl.tile.vector.creation import where
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.values import dtypes, effects
from dsl.tirx.values.promotion import promote


def truth(test: Numeric, word: str) -> Boolean:
    """The test of a statement. Raises DSLUserCodeTypeError for a float."""
    if test.is_float:
        raise DSLUserCodeTypeError(
            f"`{word}` is decided by a bool or an integer, got {type_name(test)}",
            fix="compare it: `x != T.float32(0)`",
            id="BRANCH_FLOAT",
        )
    return Boolean(test)


def _tried(*thunks: Callable) -> tuple[list[Any], bool]:
    """The results of thunks, and whether they have effects besides arithmetic. The traced ops are discarded."""
    with Attempt() as attempt, effects.watched() as watch:
        scratch = Scratch()
        with mlir.inside(scratch.block):
            values = [thunk() for thunk in thunks]
        attempt.discard([scratch.holder])
    return values, watch.has_effects


def if_then_else(test: Any, then: Callable, orelse: Callable) -> Any:
    """`then()` where `test`, else `orelse()`, in their common dtype; only the one that is chosen is evaluated."""
    if isinstance(test, (bool, int)) or (isinstance(test, Numeric) and not is_dynamic(test)):
        return then() if test else orelse()
    if not isinstance(test, Numeric):
        raise DSLUserCodeTypeError(
            f"T.if_then_else is decided by a bool, got {type_name(test)}", id="BRANCH_TYPE", fix="compare: `x > 0`"
        )
    values, _ = _tried(then, orelse)
    dtype = _common(*values)
    if dtype is None:
        raise DSLUserCodeTypeError(
            f"a choice is between two numbers, got {type_name(values[0])} and {type_name(values[1])}",
            id="CHOICE_TYPE",
            fix="use an `if` statement",
        )
    name = Name("the choice", *dataclasses.astuple(here()))
    return statements.if_(
        truth(test, "T.if_then_else"),
        lambda _: (dtypes.cast(then(), dtype),),
        lambda _: (dtypes.cast(orelse(), dtype),),
        (dtype.scalar(0),),
        (name,),
    )[0]


def ifexp(test: Any, then: Callable, orelse: Callable) -> Any:
    """`a if test else b`: Python's where Python decides `test`."""
    return if_then_else(test, then, orelse) if isinstance(test, Numeric) else then() if test else orelse()


def _common(a: Any, b: Any) -> dtypes.DType | None:
    if isinstance(a, TensorSSA) or isinstance(b, TensorSSA):
        vector, other = (a, b) if isinstance(a, TensorSSA) else (b, a)
        number = other if isinstance(other, TensorSSA) else numeric(other)
        if number is None:
            return None
        scalar = number.dtype
        return dtypes.find(f"{dtypes.find(promote(vector.dtype, scalar))}x{vector.size}")
    left, right = numeric(a), numeric(b)
    return None if left is None or right is None else dtypes.find(promote(type(left), type(right)))


def select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """`true_value` where `condition`, else `false_value`; both are evaluated."""
    if isinstance(condition, TensorSSA):
        return where(condition, true_value, false_value)
    dtype = _common(true_value, false_value)
    if dtype is None:
        raise DSLUserCodeTypeError(
            f"T.Select chooses between numbers, got {type_name(true_value)} and {type_name(false_value)}",
            id="CHOICE_TYPE",
            fix="use an `if` statement",
        )
    return select_number(condition, dtypes.cast(true_value, dtype), dtypes.cast(false_value, dtype))


# --- and, or, not ----------------------------------------------------------------------------------------------------


def and_(left: Any, right: Callable) -> Any:
    """`left and right`: the right side is evaluated only if the left one is true."""
    if not isinstance(left, Numeric):
        return left and right()
    return _short(left, right, "and")


def or_(left: Any, right: Callable) -> Any:
    """`left or right`: the right side is evaluated only if the left one is false."""
    if not isinstance(left, Numeric):
        return left or right()
    return _short(left, right, "or")


def _short(left: Numeric, right: Callable, word: str) -> Boolean:
    flag = truth(left, word)
    if not is_dynamic(flag):
        decides = flag.value == (word == "or")
        return flag if decides else _flag(right(), word)
    _, does = _tried(right)
    if not does:
        return operate(word, flag, _flag(right(), word))
    name = Name(f"the `{word}`", *dataclasses.astuple(here()))
    evaluated, decided = lambda _: (_flag(right(), word),), lambda _: (Boolean(word == "or"),)
    then, orelse = (evaluated, decided) if word == "and" else (decided, evaluated)
    return statements.if_(flag, then, orelse, (Boolean(False),), (name,))[0]


def _flag(value: Any, word: str) -> Boolean:
    number = numeric(value)
    if number is None:
        raise DSLUserCodeTypeError(
            f"`{word}` of a value known at run time needs bools, got {type_name(value)}",
            fix="use an `if` statement",
            id="BRANCH_TYPE",
        )
    return truth(number, word)


def not_(value: Any) -> Any:
    if not isinstance(value, Numeric):
        return not value
    return operate("xor", truth(value, "not"), Boolean(True))
