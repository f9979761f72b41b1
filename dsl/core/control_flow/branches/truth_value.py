"""The truth of a tested value that is not a number: as in Python, except for values that Python always finds true.

A tensor and a tuple of dynamic numbers are always true for Python, which is never what the test asks. NVIDIA's compiler
refuses everything but numbers in an `if` of a jit function; in an expression it takes functions, classes and modules.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, warn
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase
from dsl.core.unbound import Unbound

_PLAIN = (type(None), bool, int, float, str, list, dict, set)
_CALLED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


def truth(value: Any, what: str = "condition") -> bool:
    """Whether Python takes `value` for true, in a statement. Raises DSLUserCodeTypeError for a value that is always
    true."""
    return _truth_unless(_always_true, value, what)


def truth_in_expression(value: Any, what: str = "condition") -> bool:
    """`truth` in an expression, where NVIDIA's compiler leaves functions, classes and modules to Python: one of them
    may be None in another compilation, as in `f(x) if f else x`."""
    return _truth_unless(_always_true_value, value, what)


def _truth_unless(always_true: Callable[[Any], str], value: Any, what: str) -> bool:
    if type(value) not in _PLAIN and (fix := always_true(value)):
        raise DSLUserCodeTypeError(f"{what} must be a number, got {described(value)}", fix=fix)
    return single_truth(value, what)


def single_truth(value: Any, what: str) -> bool:
    """`bool(value)`. Raises DSLUserCodeTypeError for an array of several elements, which has none."""
    try:
        return bool(value)
    except (ValueError, RuntimeError) as error:
        if not hasattr(value, "any"):
            raise
        raise DSLUserCodeTypeError(
            f"{what} must be one value, got {described(value)}: {error}",
            fix="test one element, or ask the array: `.any()`, `.all()`",
        ) from None


def truth_in_python(value: Any) -> bool:
    """`truth` in a function without a decorator, which NVIDIA's compiler leaves to Python: a warning in place of the
    error."""
    if type(value) in _PLAIN or not (fix := _always_true_value(value)):
        return bool(value)
    warn(f"a condition that is {described(value)} is always true ({fix})", "ALWAYS_TRUE")
    return True


def described(value: Any) -> str:
    """The description of a value, as the author knows it."""
    name = getattr(value, "__name__", None)
    if name is not None and (isinstance(value, _CALLED) or _is_decorated(value)):
        return f"function `{name}`"
    return "a tuple of dynamic numbers" if isinstance(value, tuple) else type_name(value)


def _is_decorated(value: Any) -> bool:
    return type(value).__module__.startswith("dsl.") and hasattr(value, "function")


def _always_true(value: Any) -> str:
    """The advice in place of an `if` on a value that is always true, '' for any other value."""
    if isinstance(value, _CALLED) or _is_decorated(value):
        return "call it, or if it can be None: `const_expr(f is not None)`"
    if isinstance(value, types.ModuleType):
        return "test a value of it"
    cls = type(value)
    if fix := _always_true_value(value):
        return fix
    if isinstance(value, type):
        return Phrase("compare it: `x is cutlass.Float32`", "COMPARE_TYPES")
    is_ours = cls.__module__.startswith("dsl.") and not issubclass(cls, (Numeric, enum.Enum, Unbound, list, dict))
    return _ASK_FOR_NONE if is_ours else ""


_ASK_FOR_NONE = "ask `is not None`, or test a number of it"


def _always_true_value(value: Any) -> str:
    """`_always_true` of the values of a program: tensors, layouts, tuples of dynamic numbers, types of numbers."""
    if isinstance(value, tuple):
        return "test one of its elements" if any(map(is_dynamic, value)) else ""
    if isinstance(value, type):
        return Phrase("compare it: `x is cutlass.Float32`", "COMPARE_TYPES") if issubclass(value, Numeric) else ""
    cls = type(value)
    if not cls.__module__.startswith("dsl.") or issubclass(cls, (Numeric, enum.Enum, Unbound, list, dict)):
        return ""
    return getattr(cls, "truth_fix", _ASK_FOR_NONE if hasattr(cls, "__flatten__") else "")
