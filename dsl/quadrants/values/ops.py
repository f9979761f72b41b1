"""Functions on numbers, vectors and matrices: in kernels on run-time values, in Python on Python's numbers."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable

from dsl.core.ir import arithmetic
from dsl.core.number import elementary_functions
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.core.number.float_formats import round_to
from dsl.core.number.operators import operate, select as core_select
from dsl.quadrants import runtime
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.functions import task
from dsl.quadrants.values import dtypes as types, scalar_functions
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix, entries_like
from dsl.quadrants.values.scalar_functions import float_of, integer_of, is_traced, number_of

# The public names.
__all__ = [
    "abs",
    "acos",
    "asin",
    "atan2",
    "bit_cast",
    "bit_shr",
    "cast",
    "ceil",
    "cos",
    "exp",
    "floor",
    "log",
    "max",
    "min",
    "one",
    "pow",
    "raw_div",
    "raw_mod",
    "round",
    "rsqrt",
    "select",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "zero",
]


def _mapped(function: Callable, x: object, *others: object) -> object:
    """`function` of numbers, or of every element where one of its arguments is a matrix."""
    arguments = (x, *others)
    shaped = next((argument for argument in arguments if isinstance(argument, Matrix)), None)
    if shaped is None:
        return function(*map(value_of, arguments))
    columns = [[value_of(entry) for entry in entries_like(shaped, argument)] for argument in arguments]
    return shaped.like([function(*row) for row in zip(*columns)])


# --- types -----------------------------------------------------------------------------------------------------------


@types.conversion
def cast(obj, dtype):
    """`obj` as a `dtype`: floats are truncated to integers, which wrap."""
    element = types.existing(dtype)

    def convert(value):
        if is_traced(value):
            return element.core(value)
        if task.active():
            if type(value) is int:
                return task.dynamic(
                    element.core(element.core.wrapped(value) if element.core.is_integer else float(value))
                )
            number = types.number(value)
            if number is None:
                raise QuadrantsTypeError.at(f"{described(value)} cannot be cast to {element}", "give a number")
            return task.dynamic(element.core(number))
        return runtime.unpack(element, runtime.pack(element, value))

    if not isinstance(obj, Matrix) and isinstance(obj, int) and not isinstance(obj, bool):
        return convert(obj)
    return _mapped(convert, obj)


def typed(dtype: types.DataType, arguments: tuple, keywords: dict) -> object:
    """`qd.i64(x)` in a kernel: a Python number is a literal of that type, anything else is cast."""
    if len(arguments) != 1 or keywords:
        raise QuadrantsSyntaxError.at(
            "A primitive type can only decorate a single expression.", f"write `qd.{dtype}(x)`"
        )
    value = value_of(arguments[0])
    if isinstance(value, (Matrix, list, tuple)):
        raise QuadrantsSyntaxError.at(
            "A primitive type cannot decorate an expression with a compound type.",
            fix="qd.cast takes vectors and matrices",
        )
    value = value.item() if type(value).__module__ == "numpy" and not getattr(value, "shape", 1) else value
    if type(value) not in (int, float):
        return cast(value, dtype)
    kind, wanted = ("Integer", "a integer") if type(value) is int else ("Floating-point", "a floating-point")
    if dtype.core.is_integer != (type(value) is int):
        raise QuadrantsTypeError.at(
            f"{kind} literals must be annotated with {wanted} type. For type casting, use `qd.cast`.",
            fix=f"qd.cast({value}, qd.{dtype})",
        )
    if type(value) is int and dtype.core.width > 1 and not dtype.core.min <= value <= dtype.core.max:
        raise QuadrantsTypeError.at(
            f"Integer literal {value} exceeded the range of specified dtype: {dtype}",
            fix=f"a wider type, or qd.cast({value}, qd.{dtype}), which wraps",
        )
    if type(value) is float:  # not by way of the default float type, which may be narrower
        return task.dynamic(dtype.core(round_to(value, dtype.core.__name__)))
    return cast(value, dtype)


def bit_cast(obj, dtype):
    """The bits of `obj` read as a `dtype` of the same width."""
    return _mapped(lambda value: number_of(value, "bit_cast").bitcast(types.existing(dtype).core), obj)


def int_(x=0):
    return cast(x, types.Defaults.ip) if not isinstance(x, (str, bytes)) else int(x)


def float_(x=0.0):
    return cast(x, types.Defaults.fp) if not isinstance(x, (str, bytes)) else float(x)


def bool_(x=False):
    return cast(x, types.u1)


# --- one argument ----------------------------------------------------------------------------------------------------


def _of_elements(name: str, of_one: Callable) -> Callable:
    """The function `name` of a number, or of every element."""

    def function(x):
        return _mapped(of_one, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}(x)` of a number, or of every element."
    return function


def _reciprocal_root(value: Numeric) -> Numeric:
    return operate("truediv", type(value)(1.0), scalar_functions.intrinsic("sqrt")(value))


sqrt = _of_elements("sqrt", scalar_functions.sqrt)
rsqrt = _of_elements("rsqrt", scalar_functions.unary("rsqrt", lambda x: 1 / math.sqrt(x), _reciprocal_root))
sin, cos, tan, asin, acos, tanh, exp, log = (
    _of_elements(name, scalar_functions.unary(name, getattr(math, name), scalar_functions.elementary(name)))
    for name in ("sin", "cos", "tan", "asin", "acos", "tanh", "exp", "log")
)


def _rounding(name: str, python: Callable, intrinsic: str):
    def function(x, dtype=None):
        def one(value):
            if not task.active():
                return python(value) if dtype is None else cast(python(value), dtype)
            number = number_of(value, name)
            if not number.is_float:
                raise QuadrantsTypeError.at(
                    f"'{name}' takes real inputs only, however '{types.name_of(number)}' is provided",
                    fix="it is an integer already",
                )
            rounded = scalar_functions.intrinsic(intrinsic)(number)
            return rounded if dtype is None else cast(rounded, dtype)

        return _mapped(one, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}(x)`, a float unless `dtype` names another type."
    return function


floor, ceil = _rounding("floor", math.floor, "floor"), _rounding("ceil", math.ceil, "ceil")
round = _rounding("round", builtins.round, "round")


def abs(x):
    """The absolute value."""
    return _mapped(builtins.abs, x)


def logical_not(x):
    """`not x` as u1. Raises QuadrantsTypeError for floats."""
    return _mapped(lambda value: Boolean(operate("eq", integer_of(value, "logical_not"), 0)), x)


def any_(values):
    """`any(values)`: 1 where an entry of a vector, matrix or list is not zero."""
    return _matrix_of(values).any()


def all_(values):
    """`all(values)`: 1 where no entry of a vector, matrix or list is zero."""
    return _matrix_of(values).all()


def _matrix_of(values: object) -> Matrix:
    if isinstance(values, Matrix):
        return values
    if isinstance(values, (list, tuple)) and values:
        return Matrix([types.number(value_of(value)) for value in values], shape=(len(values),))
    raise QuadrantsTypeError.at(
        f"any and all take a vector or matrix, got {types.name_of(value_of(values))}",
        fix="loop over the elements, and combine them with `or` or `and`",
    )


# --- two and three ---------------------------------------------------------------------------------------------------


def _extreme(name: str, of_two: Callable) -> Callable:
    def function(*values):
        if not values:
            raise QuadrantsTypeError.at(f"`{name}` takes numbers, got none", f"for example `{name}(a, b)`")
        if len(values) == 1:
            values = tuple(values[0].parts() if isinstance(values[0], Matrix) else values[0])
        result = values[0]
        for value in values[1:]:
            result = _mapped(of_two, result, value)
        return value_of(result)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name}imum of numbers, or of every element."
    return function


max, min = _extreme("max", scalar_functions.maximum), _extreme("min", scalar_functions.minimum)


def pow(base, exponent):
    """`base ** exponent`."""
    return _mapped(lambda a, b: a**b, base, exponent)


def atan2(x1, x2):
    """The angle of the point (x2, x1)."""

    def one(a, b):
        if not is_traced(a, b):
            return math.atan2(a, b)
        core = types.promote(type(float_of(a, "atan2")), type(float_of(b, "atan2")))
        return core(elementary_functions.call("atan2", core(types.number(a)).ir(), core(types.number(b)).ir()))

    return _mapped(one, x1, x2)


def _truncating(name: str, place: int, python: Callable):
    def function(x1, x2):
        def one(a, b):
            if not is_traced(a, b):
                return python(a, b)
            a, b = number_of(a, name), number_of(b, name)
            core = types.promote(type(a), type(b))
            a, b = core(a), core(b)
            if core.is_float:
                return (
                    operate("truediv", a, b) if place == 0 else core(elementary_functions.call("fmod", a.ir(), b.ir()))
                )
            return core(arithmetic.divide_truncating(a.ir(), b.ir(), core.signed)[place])

        return _mapped(one, x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}(x, y)` as C divides: towards zero."
    return function


def _raw_quotient(a, b):
    if not (isinstance(a, int) and isinstance(b, int)):
        return a / b
    quotient = builtins.abs(a) // builtins.abs(b)  # exact, past the integers that a float holds too
    return quotient if (a < 0) == (b < 0) else -quotient


raw_div = _truncating("raw_div", 0, _raw_quotient)
raw_mod = _truncating("raw_mod", 1, math.fmod)


def bit_shr(x1, x2):
    """`x1 >> x2` with zeros coming in."""

    def one(a, b):
        a, b = integer_of(a, "bit_shr"), integer_of(b, "bit_shr")
        return type(a)(arithmetic.shift("shr", a.ir(), type(a)(b).ir(), False))

    return _mapped(one, x1, x2)


def select(cond, x1, x2):
    """`x1` where `cond` is not zero, else `x2`: both are evaluated."""

    def one(test, a, b):
        if not is_traced(test, a, b):
            return a if test else b
        core = types.promote(type(number_of(a, "select")), type(number_of(b, "select")))
        return core_select(Boolean(integer_of(test, "select")), core(types.number(a)), core(types.number(b)))

    return _mapped(one, cond, x1, x2)


def zero(x):
    """0 of the type and shape of `x`."""
    return _mapped(lambda value: type(value)(0), x)


def one(x):
    """1 of the type and shape of `x`."""
    return _mapped(lambda value: type(value)(1), x)
