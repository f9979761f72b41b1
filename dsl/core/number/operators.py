"""The effect of operators on values: promote, fold if both sides are static, otherwise emit.

`//` rounds down. `%` of dynamic values truncates (-7 % 2 == -1), of static ones it is Python's (-7 % 2 == 1), as
measured of NVIDIA's compiler.  docs/types.md.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from dsl.core import number_rules
from dsl.core.errors import (
    DSLUserCodeOverflowError,
    DSLUserCodeShiftError,
    DSLUserCodeTypeError,
    DSLUserCodeValueError,
    DSLUserCodeZeroDivisionError,
    warn,
)
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import elementary_functions, integer_power
from dsl.core.number.conversion import is_bits
from dsl.core.number.dtypes import (
    Boolean,
    Float32,
    Int32,
    Integer,
    Numeric,
    TFloat32,
    is_dynamic,
    numeric,
    of_python,
    promote,
)
from dsl.core.number.type_name import type_name
from dsl.core.phrase import Phrase, cast, conversion
from dsl.core.state import in_arm

_FOLD = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "min": min,
    "max": max,
}
SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_ARITHMETIC = {"add", "sub", "mul", "floordiv", "mod"}
_UNARY_SIGNS = {"neg": "-", "pos": "+", "invert": "~"}
_CONVERT_FIRST = Phrase("convert it first, for example {cast}", cast=cast(Int32))
INTEGER_ONLY = {"and", "or", "xor", "lshift", "rshift"}


def _operation_type(name: str, a: Any, b: Any) -> type[Numeric]:
    """The type `a name b` is computed in."""
    left, right = numeric(a), numeric(b)
    assert left is not None and right is not None
    if (own := number_rules.current().operation) is not None:
        return own(name, type(left), type(right))
    dtype = promote(type(left), type(right))
    if name == "truediv" and dtype.is_integer:
        return Float32
    if dtype is Boolean and (name in ("min", "max") or (name in _ARITHMETIC and bool in (type(a), type(b)))):
        return Int32
    return dtype


def _must_compute(dtype: type[Numeric]) -> None:
    """Raise DSLUserCodeTypeError for a type that is storage only."""
    if is_bits(dtype) or dtype is TFloat32:
        raise DSLUserCodeTypeError(
            Phrase("{dtype} has no arithmetic and no comparison", dtype=dtype),
            fix=Phrase("convert it: {conversion}", conversion=conversion(Float32)),
        )


def operate(name: str, a: Any, b: Any):
    """`a name b`, or NotImplemented if a side is not a number."""
    if (check := number_rules.current().check) is not None:
        check(name, a, b)
    left, right = numeric(a), numeric(b)
    if left is None or right is None:
        return NotImplemented
    dtype = _operation_type(name, a, b)
    if name in INTEGER_ONLY and not dtype.is_integer:
        kind = (
            DSLUserCodeShiftError
            if name in ("lshift", "rshift") and type(left).is_float and type(right).is_integer
            else DSLUserCodeTypeError
        )
        raise kind(Phrase("`{sign}` needs integers, got {dtype}", sign=SIGNS[name], dtype=dtype), fix=_CONVERT_FIRST)
    # of integers: their common type comes first
    if name == "truediv" and dtype is Float32 and number_rules.current() is number_rules.CUTE:
        common = promote(type(left), type(right))
        left, right = common(left), common(right)
    if (
        name in ("lshift", "rshift")
        and not is_dynamic(right)
        and right.value < 0
        and number_rules.current() is number_rules.CUTE
        and not is_dynamic(left)
        and (left.value or dtype.signed)
    ):
        _shifted(name, dtype, 0, right.value)
    a, b = dtype(left), dtype(right)
    if not is_dynamic(a) and not is_dynamic(b):
        folded = _fold(name, dtype, a.value, b.value)
        if folded is not None:
            if hasattr(left, "is_literal") and hasattr(right, "is_literal"):
                folded.is_literal = True
            return folded
    _must_compute(dtype)
    if dtype.is_integer and not is_dynamic(b) and number_rules.current() is number_rules.CUTE:
        _warn_of_operand(name, dtype, b.value)
    if name in arithmetic.COMPARE:
        return Boolean(arithmetic.compare(name, a.ir(), b.ir(), dtype.signed))
    result = dtype(_emit(name, dtype, a, b))
    if name in _DIVISOR and dtype.is_integer and (hasattr(a, "known_divisor") or hasattr(b, "known_divisor")):
        result.known_divisor = max(_DIVISOR[name](a, b), 1)
    return result


def _warn_of_operand(name: str, dtype: type[Numeric], value: int) -> None:
    """Warn of a divisor of 0 and of a shift past the width, whose result PTX leaves open or makes 0."""
    if name in ("floordiv", "mod") and value == 0:
        warn("the divisor is 0: the result is not defined", "DIVISION_BY_ZERO")
    if name in ("lshift", "rshift") and not 0 <= value < dtype.width:
        warn(f"{dtype} has {dtype.width} bits, and is shifted by {value}", "SHIFT_TOO_FAR")


def _divisor(a: Numeric) -> int:
    """A number that `a` is known to be a multiple of; 0 for the static 0."""
    return a.divisibility if is_dynamic(a) else abs(a.value)


def _divisor_of_quotient(a: Numeric, b: Numeric) -> int:
    divisor = _divisor(a)
    return 1 if is_dynamic(b) or not b.value or divisor % b.value else divisor // abs(b.value)


# The known divisor of a result, if one side is known to be a multiple of something; other operators forget it.
_DIVISOR = {
    "add": lambda a, b: math.gcd(_divisor(a), _divisor(b)),
    "sub": lambda a, b: math.gcd(_divisor(a), _divisor(b)),
    "mul": lambda a, b: _divisor(a) * _divisor(b),
    "floordiv": _divisor_of_quotient,
    "mod": lambda a, b: 1 if is_dynamic(b) else math.gcd(_divisor(a), b.value),
}


def truncated_divmod(a: Any, b: Any) -> tuple[Numeric, Numeric]:
    """The quotient of two integers rounded towards zero, and its remainder, which has the sign of `a`."""
    dtype = _operation_type("floordiv", a, b)
    a, b = dtype(numeric(a)), dtype(numeric(b))
    static = None if is_dynamic(b) else b.value
    if static and not is_dynamic(a):
        quotient = abs(a.value) // abs(static) * (1 if (a.value < 0) == (static < 0) else -1)
        return dtype(dtype.wrapped(quotient)), dtype(a.value - quotient * static)
    quotient, remainder = arithmetic.divide_truncating(a.ir(), b.ir(), dtype.signed, static)
    return dtype(quotient), dtype(remainder)


Numeric.truncated_divmod = staticmethod(truncated_divmod)


def _fold(name: str, dtype: type[Numeric], a, b) -> Numeric | None:
    """The static result, or None where it has to be left to run time."""
    if number_rules.current() is not number_rules.CUTE:
        if (
            (name in ("truediv", "floordiv", "mod") and b == 0)
            or (name in ("lshift", "rshift") and not 0 <= b < dtype.width)
            or (name == "pow" and (b < 0 if dtype.is_integer else a < 0 and b != int(b)))
        ):
            return None
    try:
        result = _FOLD[name](a, b) if name not in _CHECKED else _CHECKED[name](name, dtype, a, b)
    except OverflowError:  # of a float power
        if dtype.is_integer:
            raise
        return None
    if result is None:
        return None
    if name in arithmetic.COMPARE:
        return Boolean(result)
    if not dtype.is_integer:
        return dtype(result)
    if not -(1 << 63) <= result < 1 << 64 and number_rules.current() is number_rules.CUTE:
        raise _overflow(name, dtype)
    return dtype(dtype.wrapped(result))


def _overflow(name: str, dtype: type[Numeric]) -> DSLUserCodeOverflowError:
    return DSLUserCodeOverflowError(
        Phrase(
            "`{sign}` of two {dtype} known while compiling gives more than 64 bits hold",
            sign=SIGNS.get(name, name),
            dtype=dtype,
        ),
        fix="compute it of values known at run time, which wrap, or in smaller steps",
    )


def _divided(name: str, dtype: type[Numeric], a, b):
    if b == 0 and in_arm():
        return None  # upstream's values are of run time there
    if b == 0:
        raise DSLUserCodeZeroDivisionError(f"`{SIGNS[name]}` divides by zero", fix="test the divisor first")
    return _FOLD[name](a, b)


def _shifted(name: str, dtype: type[Numeric], a, b):
    if b < 0:
        raise DSLUserCodeValueError(
            f"`{SIGNS[name]}` shifts by a negative count, {b}", fix="shift the other way by its absolute value"
        )
    if name == "rshift":
        return a >> min(b, 128)
    if a and b >= 1 << 12:
        raise _overflow(name, dtype)
    return a << b if a else 0


def _powered(name: str, dtype: type[Numeric], a, b):
    if not dtype.is_integer:
        return None if a < 0 and b != int(b) else a**b
    if b < 0:  # as in NVIDIA's compiler: Python's float, cut off
        if a == 0:
            raise DSLUserCodeZeroDivisionError("`**` raises 0 to a negative power", fix="test the base first")
        return int(float(a) ** b)
    if b > 64 and abs(a) > 1 and number_rules.current() is number_rules.CUTE:
        raise _overflow(name, dtype)
    return a**b if b <= 64 or abs(a) < 2 else pow(a, b, 1 << 2 * dtype.width)


_CHECKED = {
    **dict.fromkeys(("truediv", "floordiv", "mod"), _divided),
    "lshift": _shifted,
    "rshift": _shifted,
    "pow": _powered,
}


def _emit(name: str, dtype: type[Numeric], a: Numeric, b: Numeric) -> mlir.Value:
    if dtype is Boolean and name == "add" and not number_rules.current().modular_bool:  # True + True is True
        name = "or"
    static = None if is_dynamic(b) else b.value
    if name == "pow":
        return _power(dtype, a, b)
    x, y = a.ir(), b.ir()
    if name == "truediv":
        return arithmetic.binary("div", x, y, True)
    if name == "floordiv":
        return arithmetic.divide_floor(x, y, dtype.signed, static)
    if name == "mod" and number_rules.current().floor_mod:
        return arithmetic.modulo_floor(x, y, dtype.signed, static)
    if name == "mod":
        return (
            elementary_functions.call("fmod", x, y)
            if dtype.is_float
            else arithmetic.divide_truncating(x, y, dtype.signed, static)[1]
        )
    if name in ("lshift", "rshift"):
        return arithmetic.shift("shl" if name == "lshift" else "shr", x, y, dtype.signed, static)
    return arithmetic.binary(name, x, y, dtype.signed)


def _power(dtype: type[Numeric], base: Numeric, exponent: Numeric) -> mlir.Value:
    """`base ** exponent`: multiplied out where the exponent is a static whole number from 0 to 64."""
    static = None if is_dynamic(exponent) else exponent.value
    if static is None or not 0 <= static <= 64 or static != int(static):
        if dtype.is_integer:
            return integer_power.integer(base.ir(), exponent.ir(), dtype.signed)
        return elementary_functions.call("pow", base.ir(), exponent.ir())
    result, square, left = None, base, int(static)
    while left:
        if left & 1:
            result = square if result is None else operate("mul", result, square)
        left >>= 1
        square = operate("mul", square, square) if left else square
    return (dtype(1) if result is None else result).ir()


def _forward(name: str):
    return lambda self, other: operate(name, self, other)


def _reflected(name: str):
    return lambda self, other: operate(name, other, self)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift", "pow"):
    setattr(Numeric, f"__{_name}__", _forward(_name))
    setattr(Numeric, f"__r{_name}__", _reflected(_name))


def _pow(self, other, modulus=None):
    if modulus is not None:
        raise DSLUserCodeTypeError("pow() of dynamic numbers takes two arguments", fix="write `(x ** y) % m`")
    return operate("pow", self, other)


Numeric.__pow__ = _pow
for _name in arithmetic.COMPARE:
    setattr(Numeric, f"__{_name}__", _forward(_name))


def _unary(name: str, fold, emit):
    def method(self: Numeric):
        dtype = type(self)
        if (name in ("neg", "pos") and dtype is Boolean) or (name == "invert" and dtype.is_float):
            raise DSLUserCodeTypeError(
                Phrase("{dtype:a} has no unary `{sign}`", dtype=dtype, sign=_UNARY_SIGNS[name]), fix=_CONVERT_FIRST
            )
        if is_dynamic(self):
            _must_compute(dtype)
            return dtype(emit(self))
        folded = fold(self.value)
        return dtype(dtype.wrapped(folded) if dtype.is_integer and dtype is not Boolean else folded)

    return method


def _emit_invert(a: Numeric) -> mlir.Value:
    return arithmetic.binary("xor", a.ir(), mlir.constant(1 if type(a) is Boolean else -1, a.mlir_type), True)


Numeric.__neg__ = _unary("neg", operator.neg, lambda a: arithmetic.negate(a.ir()))
Numeric.__pos__ = _unary("pos", operator.pos, lambda a: a.ir())
Numeric.__abs__ = _unary("abs", abs, lambda a: arithmetic.absolute(a.ir(), a.signed and type(a) is not Boolean))
Numeric.__invert__ = _unary("invert", lambda v: not v if isinstance(v, bool) else ~v, _emit_invert)


def minimum(a, b):
    """The smaller of two numbers in their common type, NaN where one is; of equal ones the right.
    Python numbers stay Python numbers."""
    return _extreme("min", a, b)


def maximum(a, b):
    """The larger of two numbers in their common type, NaN where one is; of equal ones the right.
    Python numbers stay Python numbers."""
    return _extreme("max", a, b)


def _extreme(name: str, a, b):
    if of_python(a) and of_python(b):
        return _FOLD[name](a, b)
    left, right = numeric(a), numeric(b)
    if left is None or right is None:
        raise DSLUserCodeTypeError(
            Phrase("{name} compares numbers, got {a} and {b}", name=name, a=type_name(a), b=type_name(b)),
            fix="compare elements of tensors: `x[i]`",
        )
    dtype = _operation_type(name, a, b)
    left, right = dtype(left), dtype(right)
    if not dtype.is_float or not (is_dynamic(left) or is_dynamic(right)):
        return operate(name, a, b)
    _must_compute(dtype)
    x, y = left.ir(), right.ir()
    first = arithmetic.compare("gt" if name == "max" else "lt", x, y, True)
    first = arithmetic.binary("or", first, arithmetic.compare("ne", x, x, True), False)
    return dtype(arithmetic.select(first, x, y))


def type_of_literal(a, b) -> type[Numeric] | None:
    """The integer type of the one of two values that the other, a Python int, fits in; None where there is none."""
    for literal, other in ((a, b), (b, a)):
        if type(literal) is int and isinstance(other, Integer) and not isinstance(other, Boolean):
            dtype = type(other)
            low = -(1 << dtype.width - 1) if dtype.signed else 0
            if low <= literal < low + (1 << dtype.width):
                return dtype
    return None


def select(cond, if_value, else_value) -> Numeric:
    """`if_value` where `cond`, else `else_value`, in their common type, without a branch."""
    left, right = numeric(if_value), numeric(else_value)
    if left is None or right is None:
        raise DSLUserCodeTypeError(
            Phrase(
                "a conditional expression needs two numbers, got {a} and {b}",
                a=type_name(if_value),
                b=type_name(else_value),
            ),
            fix="choose between elements of tensors: `x[i]`",
        )
    dtype = type_of_literal(if_value, else_value) or promote(type(left), type(right))
    condition = Boolean(cond)
    if not is_dynamic(condition):
        return dtype(left if condition.value else right)
    return dtype(arithmetic.select(condition.ir(), dtype(left).ir(), dtype(right).ir()))
