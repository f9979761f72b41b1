"""An argument of another kind than a function of the surface takes, seen where the function failed over it.

Functions check for common mistakes of authors, with their own messages. Mistakes that none of them foresaw end here:
the arguments are compared with the annotations of the parameters, and the first that differs is the author's mistake.
If all fit, the compiler is at fault.
"""

from __future__ import annotations

import ast
import os
import re
import types
import typing
from typing import Any

from dsl.core.diagnosis import python_errors
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, NumericMeta, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer
from dsl.core.syntax.raise_place import is_authors_code, names_at, place_of, walk, words
from dsl.span import Span, is_our_file

_UNKNOWN = object()
_NEVER = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    bytes,
    complex,
    set,
    frozenset,
    slice,
    type(...),
    range,
    memoryview,
)
_WORDS = {
    int: "an integer",
    bool: "True or False",
    str: "a text",
    float: "a number",
    tuple: "a tuple",
    list: "a list",
    dict: "a dict",
    Numeric: "a number",
}


def explained(error: BaseException) -> DSLUserCodeError | None:
    """The error that names the argument over which a function of the compiler failed, or None."""
    frame = _entered(error)
    if frame is None:
        return None
    place, code = place_of(error), frame.f_code
    arguments = {**_in_frame(frame), **_at_call(error, place, frame)}
    module, call = frame.f_globals, python_errors.call_at(place)
    called = getattr(call.func, "attr", getattr(call.func, "id", _name(code))) if call is not None else _name(code)
    for name, value in arguments.items():
        annotation = _annotation(frame, name, module)
        what = _wanted(value, annotation)
        if what is not None:
            return DSLUserCodeTypeError(
                f"`{name}` of `{called}` must be {what}, got {type_name(value)}",
                fix=f"give {what} for `{name}`",
                place=place,
            ).with_traceback(error.__traceback__)
    odd = next(
        (
            (name, value)
            for name, value in arguments.items()
            if _is_odd(value) or _is_named(value, str(error)) or _is_no_operand(value, code)
        ),
        None,
    )
    if odd is not None:
        return DSLUserCodeTypeError(
            f"`{odd[0]}` of `{called}` is not supported as {type_name(odd[1])}",
            fix="give a number, a tensor, a layout, or what the page of the function names",
            place=place,
        ).with_traceback(error.__traceback__)
    return None


def _name(code: types.CodeType) -> str:
    name = code.co_qualname.rpartition(".")[2]
    return code.co_qualname.partition(".")[0].lstrip("_") if name in ("__init__", "__post_init__", "__new__") else name


def _entered(error: BaseException) -> types.FrameType | None:
    """The frame of the function of the compiler's that the author called last."""
    frames: list[types.FrameType] = []
    for entry in walk(error):
        if is_authors_code(entry.tb_frame.f_code):
            frames.clear()
        elif is_our_file(entry.tb_frame.f_code.co_filename):
            frames.append(entry.tb_frame)
    called = words(place_of(error))
    return next(
        (frame for frame in frames if _name(frame.f_code) in called),
        next((frame for frame in frames if _in_frame(frame)), None),
    )


def _in_frame(frame: types.FrameType) -> dict[str, Any]:
    """The parameters as the function has them now."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name: frame.f_locals[name] for name in names if name in frame.f_locals and name not in ("self", "cls")}


def _at_call(error: BaseException, place: Span, frame: types.FrameType) -> dict[str, Any]:
    """The arguments as the author wrote them, where they are names and literals."""
    call = python_errors.call_at(place)
    if call is None:
        return {}
    local, module_names, _ = names_at(error)
    names = [name for name in frame.f_code.co_varnames[: frame.f_code.co_argcount] if name not in ("self", "cls")]
    pairs = [*zip(names, call.args), *((each.arg, each.value) for each in call.keywords if each.arg)]
    space = {**module_names, **local}
    arguments = {name: _value(node, space) for name, node in pairs if not isinstance(node, ast.Starred)}
    return {name: value for name, value in arguments.items() if value is not _UNKNOWN}


def _value(node: ast.expr, space: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return space.get(node.id, _UNKNOWN)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _UNKNOWN


def _annotation(frame: types.FrameType, name: str, module: dict[str, Any]) -> Any:
    """The annotation of a parameter as an object; Any where there is none."""
    function: Any = module
    for part in frame.f_code.co_qualname.split("."):
        if part == "<locals>":
            return typing.Any
        function = (
            function.get(part)
            if isinstance(function, dict)
            else vars(function).get(part)
            if isinstance(function, type)
            else None
        )
    function = getattr(function, "__wrapped__", function)
    text = getattr(getattr(function, "__func__", function), "__annotations__", {}).get(name, typing.Any)
    try:
        return eval(text, module) if isinstance(text, str) else text
    except Exception:  # a name that only a type checker knows
        return typing.Any


def _wanted(value: Any, annotation: Any) -> str | None:
    """The kinds that a parameter takes, in words, if `value` is none of them, or None."""
    kinds = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    allowed = []
    for kind in kinds:
        if (fits := _fits(value, kind)) is None or fits:
            return None
        if kind is not types.NoneType and kind is not None:
            allowed.append(_word(kind))
    return " or ".join(allowed)


def _fits(value: Any, kind: Any) -> bool | None:
    """Whether `value` is of an annotation's kind; None if that is not known."""
    if kind is None or kind is types.NoneType:
        return value is None
    origin = typing.get_origin(kind)
    if origin is type:
        return isinstance(value, NumericMeta) if Numeric in typing.get_args(kind) else isinstance(value, type)
    kind = origin or kind
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return None
    if kind in (int, float, bool):
        return isinstance(value, (int, float, Numeric)) or (hasattr(value, "__index__") and not isinstance(value, type))
    if kind is Numeric:
        return numeric(value) is not None
    try:
        return isinstance(value, kind)
    except TypeError:
        return None


def _word(kind: Any) -> str:
    if typing.get_origin(kind) is type:
        return "a numeric type such as Float32" if Numeric in typing.get_args(kind) else "a class"
    kind = typing.get_origin(kind) or kind
    name = getattr(kind, "__name__", str(kind)).lstrip("_")
    return (
        _WORDS.get(kind)
        or {"Callable": "a function", "Sequence": "a tuple or a list"}.get(name)
        or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
    )


def _is_named(value: Any, text: str) -> bool:
    """Whether Python's error names the class of `value`, or of a part of it, as what an operation has not."""
    named = set(re.findall(r"'(\w+)'", text)) - {"int", "float", "bool"}
    return any(type(each).__name__ in named for each in (value, *(value if isinstance(value, (tuple, list)) else ())))


def _is_no_operand(value: Any, code: types.CodeType) -> bool:
    """Whether `value` is nothing that an instruction of dsl.gpu takes."""
    return f"{os.sep}dsl{os.sep}gpu{os.sep}" in code.co_filename and not isinstance(
        value, (Numeric, Pointer, int, float, str, type(None))
    )


def _is_odd(value: Any) -> bool:
    """Whether hardly any function has a use for `value`."""
    return (
        value is None
        or isinstance(value, _NEVER)
        or type(value) is object
        or isinstance(value, (str, dict))
        or (isinstance(value, type) and not isinstance(value, NumericMeta))
        or (hasattr(value, "function") and callable(value))
        or type(value).__module__.partition(".")[0] in ("numpy", "torch")
    )
