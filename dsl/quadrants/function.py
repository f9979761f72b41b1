"""A decorated function of the author: its signature, its annotations as objects, its rewritten code."""

from __future__ import annotations

import __future__
import functools
import inspect
import types as python_types
from collections.abc import Callable

from dsl.core import rewrite
from dsl.quadrants import dtypes as types
from dsl.quadrants.errors import QuadrantsSyntaxError
from dsl.span import Span


class Function:
    """A decorated function: its signature with annotations as objects, and its rewritten code."""

    grammar = "FUNC"                     # of dsl.quadrants.surface

    def __init__(self, function: Callable):
        functools.update_wrapper(self, function)
        self.function = function
        self.signature = inspect.signature(function)
        if not function.__code__.co_flags & __future__.annotations.compiler_flag:
            if any(isinstance(value, str) for value in function.__annotations__.values()):
                _ = self.annotations                                # raises for one that means nothing
        owner = function.__qualname__.rpartition(".")[0]
        in_class = bool(owner) and not owner.endswith("<locals>")
        self.is_method = in_class and next(iter(self.signature.parameters), "") == "self"

    @functools.cached_property
    def annotations(self) -> dict[str, object]:
        """Annotations, evaluated where they are text."""
        found = {}
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        names = {}
        for name, cell in cells:
            try:
                names[name] = cell.cell_contents
            except ValueError:
                continue
        for name, value in getattr(self.function, "__annotations__", {}).items():
            try:
                found[name] = eval(value, self.function.__globals__, names) if isinstance(value, str) else value
            except (NameError, SyntaxError) as error:
                raise QuadrantsSyntaxError.at(f"Invalid type annotation of `{name}` in "
                                              f"`{self.function.__qualname__}`: {error}",
                                              place=self.place()) from None
        return found

    @functools.cached_property
    def rewritten(self) -> python_types.FunctionType:
        from dsl.quadrants import surface
        return rewrite.rewrite(self.function, getattr(surface, self.grammar))

    def place(self) -> Span:
        return Span(self.function.__code__.co_filename, self.function.__code__.co_firstlineno)

    def _arguments(self, arguments: tuple, keywords: dict, refuse: Callable) -> dict[str, object]:
        """The value of every parameter in order; `refuse(message)` makes the error for a call that does not fit."""
        parameters = self.signature.parameters
        if len(arguments) > len(parameters):
            wanted = ", ".join(f"{name} : {types.of(self.annotations.get(name)) or self.annotations.get(name)}"
                               for name in parameters)
            given = ", ".join([*map(str, arguments), *(f"{name}={value}" for name, value in keywords.items())])
            raise refuse(f"Too many arguments. Expected ({wanted}), got ({given}).")
        bound = dict(zip(parameters, arguments))
        for name, value in keywords.items():
            if name not in parameters:
                raise refuse(f"Unexpected argument '{name}'.")
            if name in bound:
                raise refuse(f"Multiple values for argument '{name}'.")
            bound[name] = value
        for name, parameter in parameters.items():
            if name not in bound and parameter.default is parameter.empty:
                raise refuse(f"Missing argument '{name}'.")
        return {name: bound.get(name, parameter.default) for name, parameter in parameters.items()}

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(_Method(self), instance)


class _Method:
    """A kernel or func as a method; it shows what the function does."""

    def __init__(self, function: Function):
        self.function = function

    def __call__(self, instance, *arguments, **keywords):
        return self.function(instance, *arguments, **keywords)
