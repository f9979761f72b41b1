"""Parameters of a T function as its author wrote them: where each stands, and what an annotation must be."""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.span import Span
from dsl.tirx.errors.error_wording import type_name

_PYTHONS = {
    "int": "T.int32",
    "float": "T.float32",
    "bool": "T.bool",
    "int32": "T.int32",
    "int64": "T.int64",
    "float16": "T.float16",
    "float32": "T.float32",
    "float64": "T.float64",
    "int8": "T.int8",
    "uint8": "T.uint8",
    "uint32": "T.uint32",
}


def parameter_place(function: types.FunctionType, name: str) -> Span:
    """The place of a parameter and its annotation; the function's first line if its source is not available."""
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(code)
        indent = len(lines[0]) - len(lines[0].lstrip())
        definition = ast.parse(textwrap.dedent("".join(lines))).body[0]
        argument = next(arg for arg in ast.walk(definition) if isinstance(arg, ast.arg) and arg.arg == name)
    except (OSError, SyntaxError, StopIteration, IndexError):
        return Span(code.co_filename, code.co_firstlineno)
    assert argument.end_lineno is not None and argument.end_col_offset is not None
    return Span(
        code.co_filename,
        first + argument.lineno - 1,
        argument.col_offset + indent + 1,
        first + argument.end_lineno - 1,
        argument.end_col_offset + indent + 1,
    )


@contextlib.contextmanager
def at_parameter(function: types.FunctionType, name: str) -> Iterator[None]:
    """Errors of a parameter's annotation get the place of the parameter."""
    try:
        yield
    except DSLUserCodeError as error:
        error.place = parameter_place(function, name)
        raise


def check_parameters(function: types.FunctionType, values: dict[str, Any]) -> None:
    """Raise for parameters that a T function cannot have: starred ones, and defaults. `given`: T.jit's constants."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise DSLUserCodeTypeError(
                f"`{star}{name}` stands for any number of arguments",
                id="PARAMETERS",
                place=parameter_place(function, name),
                fix="name each parameter",
            )
        if parameter.default is not parameter.empty and name not in values:
            raise DSLUserCodeTypeError(
                f"`{name}` has a default, which a call does not know",
                id="PARAMETERS",
                place=parameter_place(function, name),
                fix="leave the default out, and pass the value; or make it a constant of T.jit",
            )


def bad_annotation(function: types.FunctionType, name: str, annotation: Any) -> DSLUserCodeTypeError:
    """The error of a parameter with an annotation that no parameter can have."""
    kind = getattr(annotation, "__name__", type(annotation).__name__)
    said = f"is annotated with {type_name(annotation)}"
    fix = f'{name}: T.Buffer((256,), "float32"), T.handle or T.int32'
    if annotation is None:
        said = "has no annotation"
        if name == "self":
            said, fix = "must be a tensor or a number", "define the kernel outside the class"
    elif kind == "constexpr":
        said = "is a T.constexpr, which only T.jit takes"
        fix = f"@T.jit, and {function.__name__}.specialize({name}=...)"
    elif isinstance(annotation, type) and kind in _PYTHONS:
        fix = f"{name}: {_PYTHONS[kind]}"
    return DSLUserCodeTypeError(
        f"`{name}` of `{function.__name__}` {said}", id="ANNOTATION", fix=fix, place=parameter_place(function, name)
    )
