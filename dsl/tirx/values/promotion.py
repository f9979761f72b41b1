"""The types that operators compute in: TIRx's promotion, and the operators that it does not have.

Measured of apache-tvm 0.26.0: the wider type wins, of two integers of one width the unsigned one, a float over any
integer; `//` and `%` round down and take integers; `/` takes floats. A literal (`300`, `T.int32(300)`) is refused where
it is converted to a dtype that does not hold it; a value that a register or buffer holds wraps.
"""

from __future__ import annotations

import math
import types
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic
from dsl.core.number import dtypes
from dsl.core.number.dtypes import Boolean, Float16, Numeric, is_dynamic, numeric, of_python
from dsl.core.number.operators import SIGNS
from dsl.core.number_rules import Rules, wider
from dsl.tirx.errors.error_wording import type_name, type_word

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
        raise DSLUserCodeTypeError(f"`{sign}` takes integers, got {type_word(dtype)}", fix=instead, id="FLOAT_DIVISION")
    if name == "pow":
        raise DSLUserCodeTypeError("T does not support `**`", fix="T.pow(a, b)", id="NO_POWER")
    return dtype


_FOREIGN = (str, bytes, type(None), list, tuple, dict, set, frozenset, type, types.FunctionType, types.ModuleType)


def _check(name: str, a: Any, b: Any) -> None:
    """Raise for operands that are not numbers, and for literals that do not fit the dtype of the operation."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, _FOREIGN) or hasattr(type(one), "is_no_operand"):
            word = "compared with" if name in _COMPARISONS else f"an operand of `{SIGNS[name]}` with"
            raise DSLUserCodeTypeError(
                f"{type_name(one)} cannot be {word} {type_name(other)}", id="OPERAND_TYPE", fix=instead_of(one)
            )
        if other is b and name in ("floordiv", "mod"):
            dividend, divisor = numeric(a), numeric(b)
            if divisor is not None and dividend is not None and dividend.is_integer:
                check_divisor(name, divisor)
        if name not in ("lshift", "rshift"):
            _check_operand(name, one, other)
    if name in ("lshift", "rshift"):
        check_shift(name, a, b)


def number_of(value: Any) -> Numeric:
    """A value that is known to be a number, as a Numeric."""
    number = numeric(value)
    assert number is not None
    return number


def _dtype_of(value: Any) -> type[Numeric] | None:
    return type(value) if isinstance(value, Numeric) else of_python(value)


def _check_operand(name: str, one: Any, other: Any) -> None:
    """Raise for a literal that the dtype in which `one name other` is computed does not hold."""
    dtype, other_dtype, value = _dtype_of(one), _dtype_of(other), literal_value(one)
    if value is None or dtype is None or other_dtype is None:
        return
    if name not in _COMPARISONS:
        check_literal(value, promote(dtype, other_dtype))
    elif not isinstance(one, Numeric) and (dtype.is_integer or other_dtype.is_float):  # compared in the other's dtype
        check_literal(value, other_dtype)


def check_shift(name: str, number: Any, count: Any) -> None:
    """Raise DSLUserCodeValueError for a shift by a literal that is negative or not less than the width of the dtype."""
    value, dtype, count_dtype = literal_value(count), _dtype_of(number), _dtype_of(count)
    if value is None or dtype is None or count_dtype is None:
        return
    dtype = promote(dtype, count_dtype)
    width = max(dtype.width, 32)
    if dtype.is_integer and not 0 <= value < width:
        word, opposite = ("left", ">>") if name == "lshift" else ("right", "<<")
        raise DSLUserCodeValueError(
            f"a shift {word} of {type_word(dtype)} must be by 0 to {width - 1}, got {value}",
            id="SHIFT_COUNT",
            fix=f"shift the other way: `x {opposite} {-value}`"
            if value < 0
            else f"convert first: `T.int64(x) {SIGNS[name]} {value}`"
            if value < 64 and width < 64
            else "the result is known: write it as a number",
        )


def literal_value(value: Any) -> int | float | None:
    """The number of a literal, a Python number or `T.int32(300)`; None for everything else."""
    if isinstance(value, Numeric):
        return value.value if getattr(value, "is_literal", False) else None
    return value if type(value) in (int, float) else None


def as_literal(number: Numeric) -> Numeric:
    """Mark a number as one that the author wrote."""
    number.is_literal = True
    return number


def as_register(number: Numeric) -> Numeric:
    """The number as a register holds it: not a literal, though it may be known while compiling."""
    return type(number)(number.value) if literal_value(number) is not None else number


def converted(number: Numeric, dtype: type[Numeric]) -> Numeric:
    """`number` as `dtype`. Raises DSLUserCodeValueError for a literal that `dtype` does not hold."""
    if type(number) is dtype:
        return number
    value = literal_value(number)
    if value is None:
        return dtype(number)
    check_literal(value, dtype)
    return as_literal(dtype(number))


def _number(value: Any) -> Numeric | None:
    """A Python number as a literal: bool, int32 (int64 past it) or float32; None if it is not a number."""
    dtype = of_python(value)
    if dtype is None:
        return None
    if dtype.is_float:
        check_literal(value, dtype)
    return as_literal(dtype(value))


def instead_of(value: Any) -> str:
    """The fix for an operand that is not a number."""
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
    """Raise DSLUserCodeValueError for a number outside the range of a dtype. Integers drop the fraction of a float."""
    number = value
    if dtype is Boolean:
        low, high = 0, 1
    elif dtype.is_integer:
        low, high = dtype.min, dtype.max
        number = math.trunc(value) if math.isfinite(value) and (value >= 0 or dtype.signed) else value
    else:
        low, high = -GREATEST.get(dtype, math.inf), GREATEST.get(dtype, math.inf)
        if math.isinf(value):
            return
    if not low <= number <= high:  # NaN too
        raise DSLUserCodeValueError(
            f"{value} is outside the range of {type_word(dtype)}, {low} to {high}",
            id="LITERAL_RANGE",
            fix=_wider(value, dtype),
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


TIRX = Rules(
    number=_number, promote=promote, operation=_operation, floor_mod=True, extends_by_source=True, check=_check
)
