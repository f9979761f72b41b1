"""Python numbers as values of a numeric type that are known while compiling: what wraps and what is refused.

Rules are those measured of release 4.8.1 of NVIDIA's compiler (docs/types.md).
"""

from __future__ import annotations

import math
from typing import Any

from dsl.core.errors import DSLUserCodeOverflowError, DSLUserCodeTypeError, DSLUserCodeValueError, warn
from dsl.core.number.float_formats import FORMATS, round_to
from dsl.core.phrase import Phrase, conversion as conversion_to


class NoStaticValue(DSLUserCodeTypeError, AssertionError):
    """A Python number for a type that has dynamic values only."""


def of_integer(dtype: Any, value: int | float) -> int:
    """`value` modulo 2**width, floats truncated.

    Raises ValueError for NaN and OverflowError past 64 bits, as numpy does.
    """
    if dtype._exact_range is None:
        raise NoStaticValue(
            Phrase("{type} has no values known while compiling", type=dtype),
            fix=Phrase("convert a dynamic value: {conversion}", conversion=conversion_to(dtype)),
        )
    low, high = dtype._exact_range
    if isinstance(value, float):
        if not math.isfinite(value):
            raise (DSLUserCodeOverflowError if math.isinf(value) else DSLUserCodeValueError)(
                f"{dtype} holds integers, got {value}", fix="test it first, or use a float type"
            )
        value = int(value)
        if dtype.width < 32 or (dtype.width == 32 and dtype.signed):  # by way of 32 bits
            return dtype.wrapped(value if -(1 << 31) <= value < 1 << 31 else -(1 << 31))
        if -(1 << 63) <= value < 1 << 63:
            return dtype.wrapped(value)
        if dtype.width == 64 and not dtype.signed:
            return min(max(value, low), high)
        return low  # what x86 gives, and with it NVIDIA's compiler
    if low <= value <= high:
        return int(value)
    if not -(1 << 63) <= value < 1 << 64:
        raise DSLUserCodeOverflowError(
            f"{value} is too large for any integer type", fix="give a number below 2 ** 64, or its halves"
        )
    if not -((high - low + 1) >> 1) <= value <= high - low:
        warn(
            f"{value} does not fit in {dtype} ({low} to {high}) and becomes {dtype.wrapped(value)}",
            "TYPE_INT_LITERAL_OUT_OF_RANGE",
        )
    return dtype.wrapped(value)


def of_float(dtype: Any, value: int | float) -> float:
    """The Python float as it is. Raises NoStaticValue for groups and FloatNV8E5M3FNU."""
    if dtype.__name__ not in FORMATS:
        raise NoStaticValue(
            Phrase("{type} has no values known while compiling: it is a type of bits in memory", type=dtype),
            fix=Phrase("read or write the memory as Uint8: `cute.recast_tensor(t, cutlass.Uint8)`", "RECAST_TENSOR"),
        )
    value = float(value)
    if math.isfinite(value) and abs(value) > 448 and math.isinf(round_to(value, dtype.__name__)):
        warn(
            f"{value} is larger than the greatest {dtype} and becomes {math.copysign(math.inf, value)}",
            "TYPE_FLOAT_LITERAL_OVERFLOW",
        )
    return value
