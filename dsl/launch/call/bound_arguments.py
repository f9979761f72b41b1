"""Arguments bound to a signature as one list, and back."""

from __future__ import annotations

import inspect
from typing import Any


def spread(bound: inspect.BoundArguments) -> tuple[list[str], list[Any]]:
    """Every argument with the name of its parameter; *args and **kwargs one by one."""
    names, values = [], []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        many = (
            value
            if kind is inspect.Parameter.VAR_POSITIONAL
            else value.values()
            if kind is inspect.Parameter.VAR_KEYWORD
            else (value,)
        )
        for item in many:
            names.append(name)
            values.append(item)
    return names, values


def gather(bound: inspect.BoundArguments, values: list) -> tuple[tuple, dict]:
    """The arguments of a call like `bound` with `values` in place of the old ones."""
    remaining = iter(values)
    replaced = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            replaced[name] = tuple(next(remaining) for _ in value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            replaced[name] = {key: next(remaining) for key in value}
        else:
            replaced[name] = next(remaining)
    arguments = inspect.BoundArguments(bound.signature, replaced)
    return arguments.args, arguments.kwargs
