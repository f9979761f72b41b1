"""What operators compute in: TIRx's promotion, and the operators that it does not have.

Measured of apache-tvm 0.26.0: the wider type wins, of two integers of one width the unsigned one, a float over any
integer; `//` and `%` round down and take integers; `/` takes floats.
"""

from __future__ import annotations

from dsl.core.dtypes import Boolean, Float16, Numeric
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.rules import Rules, wider


def promote(a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    """The common type of two numbers."""
    if a.is_float and b.is_float and a is not b and a.width == b.width:
        return Float16                                   # with bfloat16
    return wider(a, b)


def _operation(name: str, a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    dtype = promote(a, b)
    if name == "truediv" and dtype.is_integer and dtype is not Boolean:
        raise DSLUserCodeTypeError("`/` of two integers may mean several divisions", id="INTEGER_DIVISION",
                                   fix="`a // b` rounds down, `T.truncdiv(a, b)` towards zero; "
                                       "`T.float32(a) / b` is a float")
    if name in ("floordiv", "mod") and dtype.is_float:
        sign, instead = ("//", "T.floor(a / b)") if name == "floordiv" else ("%", "T.fmod(a, b)")
        raise DSLUserCodeTypeError(f"`{sign}` takes integers, and one side is {dtype}", fix=instead,
                                   id="FLOAT_DIVISION")
    if name == "pow":
        raise DSLUserCodeTypeError("`**` is no operator of T", fix="T.pow(a, b)", id="NO_POWER")
    return dtype


TIRX = Rules(promote=promote, operation=_operation, floor_mod=True, extends_by_source=True)
