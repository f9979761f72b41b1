"""qd.static and what else is decided while compiling."""

from __future__ import annotations

import functools
import types as python_types

from dsl.core.control_flow.text import trace_output
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.phrase import shown
from dsl.quadrants.errors.errors import QuadrantsCompilationError, QuadrantsTypeError, WrongValue
from dsl.quadrants.functions.decorated_function import Function
from dsl.quadrants.functions.task import LoopConfig, active, program
from dsl.quadrants.memory.dense import Indexed
from dsl.quadrants.syntax.iterate import Domain
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Lvalue
from dsl.quadrants.values.matrix import Matrix

_ALLOWED = (
    bool,
    int,
    float,
    range,
    list,
    tuple,
    enumerate,
    zip,
    map,
    filter,
    type(None),
    Domain,
    python_types.FunctionType,
    python_types.MethodType,
)


def static(x, *more):
    """`x`, known while compiling; several give a list. Raises QuadrantsCompilationError for a run-time value."""
    if more:
        return [static(x), *map(static, more)]
    if isinstance(x, (Lvalue, Numeric)) and (isinstance(x, Lvalue) or is_dynamic(x)):
        raise QuadrantsCompilationError.at(
            "Input to qd.static must be compile-time constants or global pointers, instead of a run-time value of "
            "type "
            f"{types.name_of(x) if isinstance(x, Numeric) else x.dtype}",
            fix="pass it as a qd.Template argument, or drop qd.static to decide at run time",
        )
    if isinstance(x, Numeric):
        return x.value
    function = getattr(x.func, "function", None) if isinstance(x, functools.partial) else x  # a method of an object
    if isinstance(x, (*_ALLOWED, Indexed, Matrix)) or (isinstance(function, Function) and function.is_inlined):
        return x
    if type(x).__module__ == "numpy":
        return x
    if active():
        raise QuadrantsCompilationError.at(
            f"Input to qd.static must be compile-time constants or global pointers, instead of {type(x).__name__}",
            fix="qd.static the number or condition that you take from it",
        )
    raise WrongValue(
        f"Input to qd.static must be compile-time constants or global pointers, instead of {type(x)}",
        "drop qd.static: in Python every value is known",
    )


def static_assert(cond, msg: str | None = None) -> None:
    """Raise, while compiling, where `cond` is false."""
    if isinstance(cond, Lvalue) or is_dynamic(cond):
        raise QuadrantsTypeError.at(
            "Static assert with non-static condition: it is a run-time value",
            fix="assert with debug=True checks at run time",
        )
    if not cond:
        raise AssertionError(msg or "static_assert failed")


def static_print(*arguments, sep: str = " ", end: str = "\n") -> None:
    """Print while compiling, once for each time the kernel is compiled."""
    trace_output.write(sep.join(str(argument) for argument in arguments) + end)


def loop_config(
    *,
    block_dim: int | None = None,
    serialize: bool | None = None,
    parallelize: int | None = None,
    bit_vectorize: bool | None = None,
    name: str | None = None,
    **unknown,
) -> None:
    """Options of the next loop: threads a block, and whether one thread runs it. The others change no result."""
    if unknown:
        raise QuadrantsTypeError.at(
            f"loop_config() got an unexpected keyword argument '{next(iter(unknown))}'",
            fix="loop_config(block_dim=, serialize=, parallelize=, bit_vectorize=, name=)",
        )
    if block_dim is not None and not (isinstance(block_dim, int) and 1 <= block_dim <= 1024):
        raise QuadrantsTypeError.at(
            f"block_dim must be from 1 to 1024 threads, got {shown(block_dim)}", "for example block_dim=128"
        )
    program().config = LoopConfig(block_dim, bool(serialize))
