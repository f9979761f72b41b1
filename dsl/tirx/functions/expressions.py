"""Operators by the names that TVM's expressions have: `T.Add(a, b)` is `a + b`; and calls that are only hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import operate
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions import integer_functions
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax import choice
from dsl.tirx.values import dtypes
from dsl.tirx.values.elementwise import together

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "LShift",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "RShift",
    "Sub",
    "assume",
    "buffer_store",
    "filter",
    "hint",
]


def _of_two(name: str, sign: str) -> Callable:
    def operation(a: Any, b: Any) -> Numeric:
        return operate(sign, *together(name, a, b))

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"`{name}` of two numbers."
    return operation


Add, Sub, Mul, FloorDiv, FloorMod, EQ, NE, LT, LE, GT, GE, BitwiseAnd, BitwiseOr, BitwiseXor, LShift, RShift = (
    _of_two(name, sign)
    for name, sign in (
        ("Add", "add"),
        ("Sub", "sub"),
        ("Mul", "mul"),
        ("FloorDiv", "floordiv"),
        ("FloorMod", "mod"),
        ("EQ", "eq"),
        ("NE", "ne"),
        ("LT", "lt"),
        ("LE", "le"),
        ("GT", "gt"),
        ("GE", "ge"),
        ("BitwiseAnd", "and"),
        ("BitwiseOr", "or"),
        ("BitwiseXor", "xor"),
        ("LShift", "lshift"),
        ("RShift", "rshift"),
    )
)


def Div(a: Any, b: Any) -> Numeric:
    """The quotient of two floats, or of two integers rounded towards zero."""
    x, y = together("Div", a, b)
    return x / y if x.is_float else integer_functions.truncdiv(x, y)


Mod, BitwiseNot = integer_functions.truncmod, integer_functions.bitwise_not


def And(a: Any, b: Any) -> Any:
    """`a and b`, both evaluated."""
    return choice.and_(a, lambda: b)


def Or(a: Any, b: Any) -> Any:
    """`a or b`, both evaluated."""
    return choice.or_(a, lambda: b)


def Not(a: Any) -> Any:
    """`not a`."""
    return choice.not_(a)


def IntImm(dtype: Any, value: int) -> Numeric:
    """A literal of an integer dtype."""
    return dtypes.cast(value, dtypes.find(dtype))


def FloatImm(dtype: Any, value: float) -> Numeric:
    """A literal of a float dtype."""
    return dtypes.cast(value, dtypes.find(dtype))


def filter(var: Any, pred: Any) -> Any:
    """`pred`, a condition that chooses threads by their id `var`."""
    return choice.truth(together("filter", pred)[0], "T.filter")


def buffer_store(buffer: Buffer, value: Any, indices: Any, predicate: Any = None) -> None:
    """`buffer[indices] = value`."""
    if not isinstance(buffer, Buffer) or predicate is not None:
        what = f"got {type_name(buffer)}" if predicate is None else "without a predicate"
        raise DSLUserCodeTypeError(f"T.buffer_store stores in a buffer, {what}", id="STORE_TYPE", fix="A[i] = x")
    buffer[tuple(indices) if isinstance(indices, (list, tuple)) else indices] = value


def assume(condition: Any) -> None:
    """A condition that the author knows to be true. It has no effect here."""


def hint(message: str = "", **attrs: Any) -> None:
    """A note for tools. It has no effect here."""
