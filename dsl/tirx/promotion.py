"""What operators compute in: TIRx's promotion, and the operators that it does not have.

Measured of apache-tvm 0.26.0: the wider type wins, of two integers of one width the unsigned one, a float over any
integer; `//` and `%` round down and take integers; `/` takes floats.
"""

from __future__ import annotations

import math
import types
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic
from dsl.core.number import dtypes
from dsl.core.number.dtypes import Boolean, Float16, Numeric, is_dynamic, numeric
from dsl.core.number.operators import SIGNS, type_name
from dsl.core.number_rules import Rules, wider

_COMPARISONS = frozenset(arithmetic.COMPARE)
GREATEST = {
    dtypes.Float16: 65504.0,
    dtypes.BFloat16: 3.3895313892515355e38,
    dtypes.Float32: 3.4028234663852886e38,
    dtypes.Float64: 1.7976931348623157e308,
    dtypes.Float8E4M3FN: 448.0,
    dtypes.Float8E5M2: 57344.0,
}


def promote(a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    """The common type of two numbers."""
    if a.is_float and b.is_float and a is not b and a.width == b.width:
        return Float16  # with bfloat16
    return wider(a, b)


def _operation(name: str, a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    dtype = promote(a, b)
    if name == "truediv" and dtype.is_integer and dtype is not Boolean:
        raise DSLUserCodeTypeError(
            "`/` of two integers may mean several divisions",
            id="INTEGER_DIVISION",
            fix="`a // b` rounds down, `T.truncdiv(a, b)` towards zero; `T.float32(a) / b` is a float",
        )
    if name in ("floordiv", "mod") and dtype.is_float:
        sign, instead = ("//", "T.floor(a / b)") if name == "floordiv" else ("%", "T.fmod(a, b)")
        raise DSLUserCodeTypeError(f"`{sign}` takes integers, got {dtype}", fix=instead, id="FLOAT_DIVISION")
    if name == "pow":
        raise DSLUserCodeTypeError("T does not support `**`", fix="T.pow(a, b)", id="NO_POWER")
    return dtype


_FOREIGN = (str, bytes, type(None), list, tuple, dict, set, frozenset, type, types.FunctionType, types.ModuleType)


def _check(name: str, a: Any, b: Any) -> None:
    """Refuse what is no number, and a comparison with a literal that the other side's dtype does not hold."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, _FOREIGN) or hasattr(type(one), "is_no_operand"):
            word = "compared with" if name in _COMPARISONS else f"an operand of `{SIGNS[name]}` with"
            raise DSLUserCodeTypeError(
                f"{type_name(one)} cannot be {word} {type_name(other)}", id="OPERAND_TYPE", fix=instead_of(one)
            )
        if other is b and name in ("floordiv", "mod"):
            number = numeric(b)
            if number is not None and numeric(a) is not None and numeric(a).is_integer:
                check_divisor(name, number)
        if name in _COMPARISONS and type(one) is int and isinstance(other, Numeric) and type(other).is_integer:
            check_literal(one, type(other))


def instead_of(value: Any) -> str:
    """What to write in the place of an operand that is no number."""
    if hasattr(value, "shape") and hasattr(value, "vload"):
        return f"take an element: `{value.name}[{', '.join('ijklmn'[: len(value.shape)])}]`"
    if hasattr(type(value), "is_no_operand"):
        return type(value).is_no_operand
    if value is None:
        return "a number known at run time is never None: leave the test out"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "compare with one number, or loop over its elements"
    return "compare and compute with numbers"


def check_divisor(name: str, divisor: Numeric) -> None:
    """Raise DSLUserCodeError for an integer division by a zero that is known while compiling."""
    if type(divisor).is_integer and not is_dynamic(divisor) and divisor.value == 0:
        raise DSLUserCodeZeroDivisionError(
            "an integer is divided by zero",
            id="DIVISION_BY_ZERO",
            fix="divide by something else: the divisor is known while compiling",
        )


class DSLUserCodeZeroDivisionError(DSLUserCodeError, ZeroDivisionError):
    """A division by a zero that is known while compiling."""


def check_literal(value: int | float, dtype: type[Numeric]) -> None:
    """Raise DSLUserCodeValueError for a Python number outside the range of an integer dtype."""
    if dtype is Boolean:
        low, high = 0, 1
    elif dtype.is_integer:
        low, high = dtype.min, dtype.max
    else:
        low, high = -GREATEST.get(dtype, math.inf), GREATEST.get(dtype, math.inf)
        if math.isinf(value):
            return
    if not low <= value <= high:  # NaN too
        raise DSLUserCodeValueError(
            f"{value} is outside the range of {dtype}, {low} to {high}", id="LITERAL_RANGE", fix=_wider(value, dtype)
        )


def _wider(value: int | float, dtype: type[Numeric]) -> str:
    if dtype is Boolean:
        return "write True or False, or compare: `x != 0`"
    if dtype.is_float:
        return "use a wider dtype, or `T.infinity(dtype)` where that is meant"
    if value != value or math.isinf(value):
        return "an integer has neither NaN nor infinity: store a number"
    if value < 0 and not dtype.signed:
        return f"use a signed dtype, or the value that it wraps to: {int(value) % (1 << dtype.width)}"
    return "use a wider dtype, or a value in the range"


TIRX = Rules(promote=promote, operation=_operation, floor_mod=True, extends_by_source=True, check=_check)
