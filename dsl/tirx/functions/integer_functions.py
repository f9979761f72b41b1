"""Functions of integers under T's names: divisions, bits, shifts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import arithmetic
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.number.operators import operate
from dsl.gpu.arithmetic import bits
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.values.elementwise import elementwise, together
from dsl.tirx.values.promotion import check_divisor

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceildiv",
    "clz",
    "floordiv",
    "floormod",
    "popcount",
    "shift_left",
    "shift_right",
    "truncdiv",
    "truncmod",
]


def integers(name: str, *operands: Any) -> list[Numeric]:
    numbers = together(name, *operands)
    if not numbers[0].is_integer:
        raise DSLUserCodeTypeError(
            f"T.{name} takes integers, got {type_name(numbers[0])}", id="OPERAND_TYPE", fix="convert it: `T.int32(x)`"
        )
    return numbers


def _ofintegers(name: str, sign: str) -> Callable:
    def operation(a: Any, b: Any) -> Any:
        return elementwise(lambda x, y: operate(sign, *integers(name, x, y)), a, b)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"`{name}` of two integers."
    return operation


floordiv, floormod, bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right = (
    _ofintegers(name, sign)
    for name, sign in (
        ("floordiv", "floordiv"),
        ("floormod", "mod"),
        ("bitwise_and", "and"),
        ("bitwise_or", "or"),
        ("bitwise_xor", "xor"),
        ("shift_left", "lshift"),
        ("shift_right", "rshift"),
    )
)


def _truncated(name: str, part: int) -> Callable:
    def operation(a: Any, b: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            x, y = integers(name, x, y)
            static = None if is_dynamic(y) else y.value
            check_divisor(name, y)
            if not is_dynamic(x) and static:
                quotient = int(math.copysign(1, x.value) * math.copysign(1, static)) * (abs(x.value) // abs(static))
                return type(x)(type(x).wrapped((quotient, x.value - quotient * static)[part]))
            return type(x)(arithmetic.divide_truncating(x.ir(), y.ir(), type(x).signed, static)[part])

        return elementwise(one, a, b)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = ("The quotient rounded towards zero.", "The remainder of truncdiv; it has the sign of a.")[part]
    return operation


truncdiv, truncmod = _truncated("truncdiv", 0), _truncated("truncmod", 1)


def ceildiv(a: Any, b: Any) -> Any:
    """The quotient of two integers rounded up."""
    a, b = integers("ceildiv", a, b)
    return (a + b - 1) // b


def bitwise_not(x: Any) -> Any:
    """Every bit inverted."""
    return ~integers("bitwise_not", x)[0]


def popcount(x: Any) -> Any:
    """How many bits are set."""
    return bits.popc(integers("popcount", x)[0])


def clz(x: Any) -> Any:
    """How many leading zeros."""
    return bits.clz(integers("clz", x)[0])
