"""Divisors of 32-bit unsigned division, prepared once and used often: CuTe's FastDivmod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Int32, Int64, Numeric, Uint32, is_dynamic, numeric
from dsl.core.number.operators import truncated_divmod
from dsl.core.phrase import Phrase, cast, shown


class FastDivmodDivisor:
    """`divmod(x, d)`, `x // d` and `x % d` of the low 32 bits of two integers, both read as unsigned; Int32 each.

    A loop carries it and a kernel takes it as an argument. The division itself is PTX's `div.u32`, or what LLVM makes
    of a divisor that is known while compiling. Raises DSLUserCodeValueError for a static 0.
    CuTe DSL: FastDivmodDivisor.
    """

    def __init__(self, divisor: Any, is_power_of_2: bool | None = None):
        number = numeric(divisor)
        if number is None or not number.is_integer:
            raise DSLUserCodeTypeError(
                f"divisor must be an integer, got {shown(divisor)}", fix=Phrase("convert it: {cast}", cast=cast(Int32))
            )
        if not is_dynamic(number) and number.value == 0:
            raise DSLUserCodeValueError("a divisor is not 0", fix="give the number of parts")
        self.divisor, self.is_power_of_2 = divisor, bool(is_power_of_2)

    def __rdivmod__(self, dividend: Any) -> tuple[Numeric, Numeric]:
        number, divisor = numeric(dividend), numeric(self.divisor)
        if number is None or not number.is_integer:
            return NotImplemented
        assert divisor is not None
        quotient, remainder = truncated_divmod(_low_word(number), _low_word(divisor))
        return Int32(quotient), Int32(remainder)

    def __rfloordiv__(self, dividend: Any) -> Numeric:
        return self.__rdivmod__(dividend)[0]

    def __rmod__(self, dividend: Any) -> Numeric:
        return self.__rdivmod__(dividend)[1]

    def __flatten__(self) -> tuple[tuple, Any]:
        """core.pytree: the divisor is a leaf."""
        return (numeric(self.divisor),), self.is_power_of_2

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence) -> FastDivmodDivisor:
        divisor = object.__new__(cls)
        divisor.divisor, divisor.is_power_of_2 = children[0], key
        return divisor

    def __repr__(self) -> str:
        return f"{type(self).__name__}(divisor={self.divisor})"


class FastDivmodDivisorV2(FastDivmodDivisor):
    """FastDivmodDivisor; a kernel can read `divisor` only here in NVIDIA's compiler, in both classes in ours."""


def fast_divmod_create_divisor(divisor: Any) -> FastDivmodDivisor:
    """A divisor for fast division."""
    return FastDivmodDivisor(divisor)


def fast_divmod_create_divisor_v2(divisor: Any) -> FastDivmodDivisorV2:
    """A divisor for fast division."""
    return FastDivmodDivisorV2(divisor)


def _low_word(number: Numeric) -> Uint32:
    return Uint32(Int64(number)) if number.width > 32 else Uint32(number)
