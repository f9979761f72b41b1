"""A decorated function of the author: its signature, its annotations as objects, its rewritten code."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import types as python_types
from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax import rewrite
from dsl.core.syntax.function_source import find_definition
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError
from dsl.span import Span, here

_ANNOTATIONS = (
    "annotate it with an element type (qd.i32, float...), qd.types.ndarray(), qd.types.vector(n, dtype) or qd.Template"
)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else described(value)


def argument_place(call: Span, position: int, name: str) -> Span:
    """The expression of one argument in the author's call, or the whole call if it cannot be found."""
    text = call.source_line().encode()[call.column - 1 : None if call.end_column is None else call.end_column - 1]
    try:
        node = ast.parse(text.decode(), mode="eval").body if call.end_line in (None, call.line) else None
    except (SyntaxError, ValueError):
        return call
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        return call
    named = {each.arg: each.value for each in node.keywords}
    argument = node.args[position] if 0 <= position < len(node.args) else named.get(name)
    if argument is None or argument.end_col_offset is None:
        return call
    start, end = call.column + argument.col_offset, call.column + argument.end_col_offset
    return Span(call.file, call.line, start, call.line, end)


class Function:
    """A decorated function: its signature with annotations as objects, and its rewritten code."""

    __name__: str  # of the author's function, by functools.update_wrapper
    grammar: Grammar  # of dsl.quadrants.syntax.surface; of each subclass
    is_inlined = False  # where a kernel calls it

    def __init__(self, function: Callable):
        functools.update_wrapper(self, function)  # pyright: ignore[reportArgumentType] - a class of callables
        self.function = function
        self.signature = inspect.signature(function)
        if not function.__code__.co_flags & __future__.annotations.compiler_flag:
            if any(isinstance(value, str) for value in function.__annotations__.values()):
                _ = self.annotations  # raises for one that means nothing
        owner = function.__qualname__.rpartition(".")[0]
        in_class = bool(owner) and not owner.endswith("<locals>")
        self.is_method = in_class and next(iter(self.signature.parameters), "") == "self"

    @functools.cached_property
    def annotations(self) -> dict[str, Any]:
        """Annotations, evaluated where they are text."""
        annotations = {}
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        names = {}
        for name, cell in cells:
            try:
                names[name] = cell.cell_contents
            except ValueError:
                continue
        for name, value in getattr(self.function, "__annotations__", {}).items():
            try:
                annotations[name] = eval(value, self.function.__globals__, names) if isinstance(value, str) else value
            except (NameError, SyntaxError, AttributeError) as error:
                said, fix = getattr(error, "message", str(error)), getattr(error, "fix", "") or _ANNOTATIONS
                raise QuadrantsSyntaxError.at(
                    f"Invalid type annotation of `{name}` in `{self.function.__qualname__}`: {said}",
                    fix,
                    self.parameter_place(name),
                ) from None
        return annotations

    @functools.cached_property
    def rewritten(self) -> python_types.FunctionType:
        return rewrite.rewrite(self.function, self.grammar)

    @functools.cached_property
    def _definition(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Its `def` in the author's file, None where there is no source."""
        try:
            definition = find_definition(self.function)
        except DSLUserCodeError:
            return None
        return definition if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def place(self) -> Span:
        """The `def` line, up to the name."""
        code, node = self.function.__code__, self._definition
        if node is None:
            return Span(code.co_filename, code.co_firstlineno)
        column = node.col_offset + 1
        return Span(code.co_filename, node.lineno, column, node.lineno, column + len(f"def {node.name}".encode()))

    def parameter_place(self, name: str) -> Span:
        """The place of a parameter in the definition; of the return annotation for "return"."""
        node = self._definition
        arguments = (
            []
            if node is None
            else [
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                *filter(None, (node.args.vararg, node.args.kwarg)),
            ]
        )
        definition: ast.arg | ast.expr | None = next((each for each in arguments if each.arg == name), None)
        if name == "return" and node is not None:
            definition = node.returns
        if definition is None or definition.end_col_offset is None:
            return self.place()
        return Span(
            self.function.__code__.co_filename,
            definition.lineno,
            definition.col_offset + 1,
            definition.end_lineno,
            definition.end_col_offset + 1,
        )

    def _spelled(self) -> str:
        """A call that fits."""
        return f"{self.__name__}({', '.join(list(self.signature.parameters)[self.is_method :])})"

    def refuse_call(self, message: str, kind: type[DSLUserCodeError] = QuadrantsSyntaxError) -> DSLUserCodeError:
        """The error for a call whose arguments do not fit the parameters."""
        return kind(
            message,
            f"call it as `{self._spelled()}`",
            None,
            here(),
            ((self.place(), f"`{self.__name__}` is defined here"),),
        )

    def _arguments(self, arguments: tuple, keywords: dict) -> dict[str, Any]:
        """The value of every parameter in order. Raises QuadrantsSyntaxError for a call that does not fit."""
        parameters = self.signature.parameters
        if len(arguments) > len(parameters):
            wanted = ", ".join(list(parameters)[self.is_method :])
            passed = ", ".join(
                [
                    *map(_shown, arguments[self.is_method :]),
                    *(f"{name}={_shown(value)}" for name, value in keywords.items()),
                ]
            )
            raise self.refuse_call(f"Too many arguments. Expected ({wanted}), got ({passed}).")
        bound = dict(zip(parameters, arguments))
        for name, value in keywords.items():
            if name not in parameters:
                raise self.refuse_call(f"Unexpected argument '{name}'.")
            if name in bound:
                raise self.refuse_call(f"Multiple values for argument '{name}'.")
            bound[name] = value
        for name, parameter in parameters.items():
            if name not in bound and parameter.default is parameter.empty:
                raise self.refuse_call(f"Missing argument '{name}'.")
        return {name: bound.get(name, parameter.default) for name, parameter in parameters.items()}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(_Method(self), instance)


class _Method:
    """A kernel or func as a method, with the name and docstring of the function."""

    def __init__(self, function: Function):
        self.function = function

    def __call__(self, instance, *arguments, **keywords):
        return self.function(instance, *arguments, **keywords)
