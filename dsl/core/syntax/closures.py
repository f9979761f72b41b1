"""Functions inside functions: what they read of the function around them, and how NVIDIA's compiler treats that."""

from __future__ import annotations

import inspect
import types
from typing import Any

from dsl.core.errors import warn_not_portable


def captures(function: Any, name: str) -> Any:
    """`function`, called `name` inside a dynamic statement that it is defined outside of.

    Warns where it reads variables of the functions around it, itself or through others that it reads; NVIDIA's compiler
    takes functions and modules among them.
    """
    variable = _captured(function, set())
    if variable is not None:
        warn_not_portable(
            f"`{name}` reads `{variable}` of the function around it and is called in a dynamic statement",
            "SCOPE_CLOSURE_CAPTURE",
            fix=f"pass `{variable}` as an argument, or define `{name}` in the statement",
        )
    return function


def _captured(function: Any, seen: set[int]) -> str | None:
    inner = inspect.unwrap(function) if callable(function) else function
    if type(inner) is not types.FunctionType or id(inner) in seen:
        return None
    seen.add(id(inner))
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or ()):
        if name.startswith("__dsl_"):
            continue
        try:
            value = cell.cell_contents
        except ValueError:  # assigned later
            continue
        is_function = (
            callable(value)
            and not isinstance(value, type)
            and isinstance(inspect.unwrap(value), (types.FunctionType, types.BuiltinFunctionType))
        )
        if is_function:
            if (variable := _captured(value, seen)) is not None:
                return variable
        elif not isinstance(value, types.ModuleType):
            return name
    return None
