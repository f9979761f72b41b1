"""With debug=True a kernel prints each sum, difference, product and left shift of integers that overflows.

The result wraps, and the kernel goes on.  Source: quadrants 1.3.3, whose messages these are.
"""

from __future__ import annotations

import operator
from typing import Any

from dsl.core.control_flow.statements import if_
from dsl.core.number.dtypes import Boolean, Int64, Numeric, Uint64, is_dynamic
from dsl.core.number.operators import operate, select
from dsl.gpu import debug
from dsl.quadrants.functions.task import active, program
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix, entries_like
from dsl.span import author_frame, here

_PYTHON = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "lshift": operator.lshift}
_WORDS = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "lshift": "Shift left"}


def overflowing(name: str, a: Any, b: Any) -> Any:
    """`a + b`, `a - b`, `a * b` or `a << b`."""
    result = _PYTHON[name](a, b)
    if not (active() and program().debug):
        return result
    if not isinstance(result, Matrix):
        _check(name, value_of(a), value_of(b), result)
        return result
    for left, right, entry in zip(entries_like(result, a), entries_like(result, b), result.entries):
        _check(name, value_of(left), value_of(right), value_of(entry))
    return result


def _check(name: str, a: Any, b: Any, result: Any) -> None:
    """Print a message if `result` is not the exact one."""
    if not is_dynamic(result) or not result.is_integer or result.width == 1:
        return
    dtype = type(result)
    wrong = _CHECKS[name](dtype, dtype(types.number(a)), dtype(types.number(b)), result)
    text = f"{_WORDS[name]} overflow detected in {_place()}\n\n".replace("%", "%%")
    program().task.has_effects = True  # not an effect that `a if c else b` must not guard

    def show() -> tuple:
        debug.emit(text, [])
        return ()

    if_(wrong, show, tuple, (), ())


def _place() -> str:
    """The author's expression, as quadrants shows it."""
    span, frame = here(), author_frame()
    function = frame.f_code.co_name if frame is not None else ""
    end = span.end_column if span.end_line in (None, span.line) and span.end_column else len(span.source_line()) + 1
    marks = " " * (span.column - 1) + "^" * max(end - span.column, 1)
    return f'File "{span.file}", line {span.line}, in {function}:\n{span.source_line()}\n{marks}'


def _sum(dtype: type[Numeric], a: Numeric, b: Numeric, result: Numeric) -> Boolean:
    if not dtype.signed:
        return operate("lt", result, a)
    return operate("lt", operate("and", operate("xor", a, result), operate("xor", b, result)), dtype(0))


def _difference(dtype: type[Numeric], a: Numeric, b: Numeric, result: Numeric) -> Boolean:
    if not dtype.signed:
        return operate("lt", a, b)
    return operate("lt", operate("and", operate("xor", a, b), operate("xor", a, result)), dtype(0))


def _product(dtype: type[Numeric], a: Numeric, b: Numeric, result: Numeric) -> Boolean:
    if dtype.width < 64:
        wide = Int64 if dtype.signed else Uint64
        return operate("ne", operate("mul", wide(a), wide(b)), wide(result))
    is_zero = operate("eq", a, dtype(0))
    differs = operate("ne", operate("floordiv", result, select(is_zero, dtype(1), a)), b)
    if dtype.signed:  # the one quotient that overflows itself
        lowest = operate("and", operate("eq", a, dtype(-1)), operate("eq", b, dtype(dtype.min)))
        differs = operate("or", differs, lowest)
    return operate("and", differs, operate("eq", is_zero, Boolean(False)))


def _shift(dtype: type[Numeric], a: Numeric, b: Numeric, result: Numeric) -> Boolean:
    return operate("ne", operate("rshift", result, b), a)


_CHECKS = {"add": _sum, "sub": _difference, "mul": _product, "lshift": _shift}
