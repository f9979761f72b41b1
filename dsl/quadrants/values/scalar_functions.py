"""Functions of one or two numbers: of run-time values in kernels, of Python's numbers elsewhere."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from dsl.core.ir import mlir
from dsl.core.number import elementary_functions
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import operate
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.functions.task import active
from dsl.quadrants.values import dtypes as types


def is_traced(*values: Any) -> bool:
    """Whether one of `values` is a number of the compiler."""
    return any(isinstance(value, Numeric) for value in values)


def number_of(value: Any, name: str) -> Numeric:
    """An operand of the function `name`. Raises QuadrantsTypeError for anything but a number."""
    number = types.number(value)
    if number is None:
        raise QuadrantsTypeError.at(
            f"{name} takes numbers, got {described(value)}", "give a number, a vector or a matrix"
        )
    return number


def float_of(value: Any, name: str) -> Numeric:
    """An operand of a function of floats: an integer is converted to the default float type."""
    number = number_of(value, name)
    return number if number.is_float else types.Defaults.fp.core(number)


def integer_of(value: Any, name: str) -> Numeric:
    """An operand of a function of integers. Raises QuadrantsTypeError for a float."""
    number = number_of(value, name)
    if number.is_float:
        raise QuadrantsTypeError.at(
            f"'{name}' takes integral inputs only, however '{types.name_of(number)}' is provided",
            fix="compare it: `x == 0`, `x != 0`",
        )
    return number


def intrinsic(name: str) -> Callable[[Numeric], Numeric]:
    """LLVM's intrinsic of that name, of one operand."""

    def emit(value: Numeric) -> Numeric:
        return type(value)(mlir.intrinsic(f"llvm.{name}.{value.ir_type()}", value.ir_type(), value.ir()))

    return emit


def elementary(name: str) -> Callable[[Numeric], Numeric]:
    """An elementary function that is computed by a polynomial."""
    return lambda value: type(value)(elementary_functions.call(name, value.ir()))


def unary(name: str, python: Callable, emit: Callable[[Numeric], Numeric]) -> Callable[[Any], Any]:
    """A function of one float: `emit` in a kernel, `python` elsewhere."""
    return lambda value: emit(float_of(value, name)) if active() else python(value)


def extreme(name: str) -> Callable[[Any, Any], Any]:
    """`max` or `min` of two numbers."""
    python = getattr(builtins, name)
    return lambda a, b: operate(name, a, b) if is_traced(a, b) else python(a, b)


sqrt = unary("sqrt", math.sqrt, intrinsic("sqrt"))
maximum, minimum = extreme("max"), extreme("min")
