"""The truth of a tested value that is no number: Python's, except of what Python finds true whatever it holds.

A tensor, a function that was meant to be called and a tuple of dynamic numbers are always true for Python, which is
never what the test asks. NVIDIA's compiler refuses everything but numbers in an `if` of a jit function.
"""

from __future__ import annotations

import enum
import functools
import types
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, warn
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase
from dsl.core.unbound import Unbound

_PLAIN = (type(None), bool, int, float, str, list, dict, set)
_CALLED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


def truth(value: Any, what: str = "condition") -> bool:
    """Whether Python takes `value` for true. Raises DSLUserCodeTypeError where it would be true whatever it holds."""
    if type(value) not in _PLAIN and (fix := _always_true(value)):
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
    if type(value) in _PLAIN or not (fix := _always_true(value)):
        return bool(value)
    if isinstance(value, _CALLED):  # a callback that may be None
        return True
    warn(f"a condition that is {described(value)} is always true ({fix})", "ALWAYS_TRUE")
    return True


def described(value: Any) -> str:
    """What a value is, as the author knows it."""
    name = getattr(value, "__name__", None)
    if name is not None and (isinstance(value, _CALLED) or _is_decorated(value)):
        return f"function `{name}`"
    return "a tuple of dynamic numbers" if isinstance(value, tuple) else type_name(value)


def _is_decorated(value: Any) -> bool:
    return type(value).__module__.startswith("dsl.") and hasattr(value, "function")


def _always_true(value: Any) -> str:
    """What to write in place of a condition that is always true, '' for any other."""
    cls = type(value)
    if isinstance(value, _CALLED):
        return "call it, or ask `is not None`"
    if isinstance(value, (type, types.ModuleType)):
        return (
            Phrase("compare it: `x is cutlass.Float32`", "COMPARE_TYPES")
            if isinstance(value, type)
            else "test a value of it"
        )
    if isinstance(value, tuple):
        return "test one of its elements" if any(map(is_dynamic, value)) else ""
    if not cls.__module__.startswith("dsl.") or issubclass(cls, (Numeric, enum.Enum, Unbound, list, dict)):
        return ""
    if _is_decorated(value):
        return "call it, or ask `is not None`"
    return getattr(cls, "truth_fix", "ask `is not None`, or test a number of it")
