"""Functions of floats under T's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.gpu.arithmetic import functions
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.values.elementwise import elementwise, together

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "floor",
    "fma",
    "fmod",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log",
    "log1p",
    "log2",
    "log10",
    "nearbyint",
    "pow",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def _of_floats(name: str, function: Callable, document: str = "") -> Callable:
    def compute(*operands: Any) -> Any:
        def one(*numbers: Any) -> Any:
            converted_operands = together(name, *numbers)
            if not converted_operands[0].is_float:
                raise DSLUserCodeTypeError(
                    f"T.{name} takes floats, got {type_name(converted_operands[0])}",
                    id="OPERAND_TYPE",
                    fix="convert it: `T.float32(x)`",
                )
            if not trace.active():
                raise DSLUserCodeError(
                    f"T.{name} is called outside a T function",
                    id="CALL_OUTSIDE",
                    fix=f"call it in a T.prim_func; math.{name} computes in Python",
                )
            return function(*converted_operands)

        return elementwise(one, *operands)

    def of_two(x1: Any, x2: Any) -> Any:
        return compute(x1, x2)

    def of_one(x: Any) -> Any:
        return compute(x)

    operation = of_two if name in _OF_TWO else of_one
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = document or f"`{name}` of floats, of vectors lane by lane."
    return operation


_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "ldexp")
(
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    atan2,
    ceil,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    floor,
    fmod,
    log,
    log10,
    log1p,
    log2,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    isfinite,
    isinf,
    isnan,
    rsqrt,
) = (
    _of_floats(name, getattr(functions, "rem" if name == "fmod" else name))
    for name in (
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "atan2",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "exp",
        "exp2",
        "floor",
        "fmod",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "isfinite",
        "isinf",
        "isnan",
        "rsqrt",
    )
)
round = _of_floats("round", functions.roundeven, "The nearest integer; halves go to the even one.")
nearbyint = _of_floats("nearbyint", functions.roundeven, "The nearest integer; halves go to the even one.")
exp10 = _of_floats("exp10", functions.exp10, "10 to the power of a float.")
sigmoid = _of_floats("sigmoid", lambda x: 1 / (1 + functions.exp(-x)), "1 / (1 + exp(-x)).")
hypot = _of_floats("hypot", lambda x, y: functions.sqrt(x * x + y * y), "sqrt(x*x + y*y).")
ldexp = _of_floats("ldexp", lambda x, y: x * functions.exp2(y), "x * 2**y.")


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def one(*operands: Any) -> Any:
        x, y, z = together("fma", *operands)
        return functions.fma(x, y, z)

    return elementwise(one, a, b, c)


def pow(x: Any, y: Any) -> Any:
    """x to the power of y."""

    def one(*operands: Any) -> Any:
        base, exponent = together("pow", *operands)
        return functions.pow(base, exponent)

    return elementwise(one, x, y)
