"""Operations of T besides functions of floats and integers: extremes, limits, bits, vectors, attributes."""

from __future__ import annotations

import math
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, is_dynamic, numeric
from dsl.core.number.operators import operate
from dsl.tile.vector import ssa
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions import ids
from dsl.tirx.functions.integer_functions import integers
from dsl.tirx.values import dtypes
from dsl.tirx.values.elementwise import elementwise, together
from dsl.tirx.values.progression import Progression
from dsl.tirx.values.promotion import GREATEST

__all__ = [
    "Broadcast",
    "Max",
    "Min",
    "Ramp",
    "abs",
    "attr",
    "broadcast",
    "evaluate",
    "fabs",
    "func_attr",
    "infinity",
    "likely",
    "max",
    "max_value",
    "min",
    "min_value",
    "ramp",
    "reinterpret",
    "static_assert",
]


# --- extremes


def abs(x: Any) -> Any:
    """|x|."""
    return elementwise(lambda operand: together("abs", operand)[0].__abs__(), x)


fabs = abs


def max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a NaN gives way to the other."""
    return elementwise(lambda x, y: operate("max", *together("max", x, y)), a, b)


def min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a NaN gives way to the other."""
    return elementwise(lambda x, y: operate("min", *together("min", x, y)), a, b)


Max, Min = max, min


# --- limits, bits of another type ------------------------------------------------------------------------------------


def max_value(dtype: Any) -> Numeric:
    """The greatest value of a dtype."""
    wanted = dtypes.find(dtype)
    return wanted.scalar(GREATEST[wanted.scalar] if wanted.scalar.is_float else wanted.scalar.max)


def min_value(dtype: Any) -> Numeric:
    """The least value of a dtype."""
    wanted = dtypes.find(dtype)
    return wanted.scalar(-GREATEST[wanted.scalar] if wanted.scalar.is_float else wanted.scalar.min)


def infinity(dtype: Any) -> Numeric:
    """Positive infinity of a float dtype."""
    return dtypes.find(dtype).scalar(math.inf)


def reinterpret(dtype: Any, value: Any) -> Any:
    """The same bits as another dtype of the same width."""
    wanted = dtypes.find(dtype)
    number = numeric(value)
    if number is None or wanted.lanes != 1 or type(number).width != wanted.scalar.width:
        raise DSLUserCodeTypeError(
            f"the bits of {type_name(value)} are no {wanted}", id="REINTERPRET", fix="a dtype of the same width"
        )
    return number.bitcast(wanted.scalar)


# --- vectors ---------------------------------------------------------------------------------------------------------


def Broadcast(value: Any, lanes: int) -> TensorSSA:
    """A vector with `value` in every lane."""
    (number,) = together("Broadcast", value)
    return TensorSSA(ssa.splat(number, int(lanes)), int(lanes), type(number))


def Ramp(base: Any, stride: Any, lanes: int) -> Progression:
    """The vector base, base + stride, ..."""
    first, step = integers("Ramp", base, stride)
    return Progression(first, step, int(lanes))


broadcast, ramp = Broadcast, Ramp


# --- statements ------------------------------------------------------------------------------------------------------


def evaluate(value: Any) -> None:
    """Compute a value and drop it."""


def likely(condition: Any) -> Any:
    """`condition`, which is mostly true."""
    return condition


def static_assert(condition: Any, message: str = "") -> None:
    """Raises DSLUserCodeError where a condition known while compiling does not hold."""
    number = numeric(condition)
    if number is None or is_dynamic(number):
        raise DSLUserCodeTypeError(
            "T.static_assert tests what is known while compiling",
            id="STATIC_ASSERT",
            fix="test it at run time: `T.cuda.trap_when_assert_failed(x > 0)`, or `assert`",
        )
    if not number.value:
        raise DSLUserCodeError(
            message or "this does not hold", id="STATIC_ASSERT", fix="give what the assertion asks for"
        )


def func_attr(attributes: dict) -> None:
    """Attributes of the function. They have no effect here."""


def attr(attributes: Any, *_rest: Any) -> None:
    """Attributes of the device part: "tirx.launch_bounds_min_blocks_per_sm"."""
    if isinstance(attributes, dict):
        ids.current("attr").attributes.update(attributes)
