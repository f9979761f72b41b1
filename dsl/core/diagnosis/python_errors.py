"""Python's own errors of names, attributes and arguments that are not there, at the author's expression and with what
may have been meant."""

from __future__ import annotations

import ast
import builtins
import dis
import enum
import inspect
import linecache
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.diagnosis import foreign_names, operator_errors, spelling
from dsl.core.errors import DSLUserCodeAttributeError, DSLUserCodeError, DSLUserCodeNameError, DSLUserCodeTypeError
from dsl.core.number.operators import type_name
from dsl.core.syntax.raise_place import innermost, is_authors_code, names_at, place_of, walk, words
from dsl.span import Span, is_our_file

_ARITY = re.compile(r"([\w.<>]+)\(\) ((takes|missing|got an unexpected keyword|got multiple|got some).*)", re.DOTALL)
_IMPORTS = {
    "np": "import numpy as np",
    "cute": "import cutlass.cute as cute",
    "cutlass": "import cutlass",
    "from_dlpack": "from cutlass.cute.runtime import from_dlpack",
    "cuda": "import cuda.bindings.driver as cuda",
    **{
        name: f"import {name}"
        for name in ("torch", "numpy", "math", "os", "sys", "random", "functools", "itertools", "dataclasses", "time")
    },
}


def explained(error: BaseException) -> DSLUserCodeError | None:
    """The error that explains `error`, raised by Python, in the author's words; None for any other error."""
    if isinstance(error, NameError):
        return _unknown_name(error) if is_raised_by_python(error) else None
    if isinstance(error, AttributeError):
        return _unknown_attribute(error)
    if type(error) not in (TypeError, ValueError) or not is_pythons_own(error):
        return None
    return _wrong_arguments(error) or _called_value(error) or operator_errors.explained(error)


def is_raised_by_python(error: BaseException) -> bool:
    """Whether an operation of the author's code raised it, and no `raise`."""
    entry = list(walk(error))[-1:]
    return (
        bool(entry)
        and is_authors_code(code := entry[0].tb_frame.f_code)
        and dis.opname[code.co_code[entry[0].tb_lasti]] != "RAISE_VARARGS"
    )


def is_pythons_own(error: BaseException) -> bool:
    """Whether no `raise` of the author's or of this package's made it."""
    entry = list(walk(error))[-1:]
    return bool(entry) and dis.opname[entry[0].tb_frame.f_code.co_code[entry[0].tb_lasti]] != "RAISE_VARARGS"


# --- names -----------------------------------------------------------------------------------------------------------


def _unknown_name(error: NameError) -> DSLUserCodeNameError:
    """Python's error of a name that has no value, as in upstream: it also has a separate class."""
    name = error.name or re.findall(r"'(\w+)'", str(error))[0]
    frame = [entry.tb_frame for entry in walk(error)][-1]
    if name in (*frame.f_code.co_varnames, *frame.f_code.co_cellvars, *frame.f_code.co_freevars):
        what, fix = f"`{name}` has no value here", f"assign `{name}` before this line"
    else:
        what, fix = f"`{name}` is not defined", _instead_of(name, error)
    return DSLUserCodeNameError(what, fix, place=place_of(error)).with_traceback(error.__traceback__)


def _instead_of(name: str, error: NameError) -> str:
    local, module_names, functions = names_at(error)
    if name in _IMPORTS:
        return f"write `{_IMPORTS[name]}` at the top"
    for space in (local, module_names):
        usable = [each for each in space if not each.startswith("__") and each not in functions]
        if (near := spelling.nearest(name, usable)) is not None:
            return f"write `{near}`"
    if (elsewhere := spelling.in_modules(name, module_names)) is not None:
        return f"write `{elsewhere}`"
    near = spelling.swapped(name, [each for each in vars(builtins) if not each.startswith("_")])
    return f"write `{near}`" if near else f"assign or import `{name}` before it is used"


# --- attributes ------------------------------------------------------------------------------------------------------


def is_ours(value: Any) -> bool:
    """Whether the class of `value`, or `value` where it is a class, is of this package."""
    return (value if isinstance(value, type) else type(value)).__module__.startswith("dsl.")


def _unknown_attribute(error: AttributeError) -> DSLUserCodeAttributeError | None:
    """An attribute that the author reads of one of this package's objects, and that is not there."""
    name, value, code = error.name, error.obj, innermost(error)
    if name == "launch" and (function := _called_undecorated(error)):
        return DSLUserCodeAttributeError(
            f"`{function}` is a plain function: its call gives {type_name(value)}, which has no `launch`",
            fix=f"write `@cute.kernel` above `def {function}`",
            id="UNKNOWN_NAME",
            place=place_of(error),
        ).with_traceback(error.__traceback__)
    if (
        name is None
        or code is None
        or (is_our_file(code.co_filename) and code.co_name != "__getattr__")
        or not is_ours(value)
        or str(error)
        not in (
            name,
            f"'{type(value).__name__}' object has no attribute '{name}'",
            f"type object '{getattr(value, '__name__', '')}' has no attribute '{name}'",
        )
    ):
        return None
    cls = value if isinstance(value, type) else type(value)
    owner = cls.__name__.lstrip("_")
    here = [each for each in dir(value) if not each.startswith("_")]
    theirs = _upstream_members(value, cls)
    place, what = place_of(error), "member" if isinstance(cls, enum.EnumType) else "attribute"
    if theirs is not None and name in theirs:
        return DSLUserCodeAttributeError(
            f"`{name}` of {type_name(value)} is not part of this compiler yet",
            id="UNSUPPORTED_NAME",
            place=place,
            fix=_members(here, theirs),
        ).with_traceback(error.__traceback__)
    fix = foreign_names.instead_of(owner, name) or _nearest_or_members(name, cls, here, theirs)
    return DSLUserCodeAttributeError(
        f"{owner if what == 'member' else type_name(value)} has no {what} `{name}`", fix, id="UNKNOWN_NAME", place=place
    ).with_traceback(error.__traceback__)


def _called_undecorated(error: AttributeError) -> str:
    """The name of the author's function f in `f(...).launch`; "" for another expression."""
    expression = expression_at(place_of(error))
    reads = expression.func if isinstance(expression, ast.Call) else expression
    inner = reads.value if isinstance(reads, ast.Attribute) else None
    if not isinstance(inner, ast.Call):
        return ""
    local, module_names, _ = names_at(error)
    function = evaluated(inner.func, {**module_names, **local})
    return function.__name__ if isinstance(function, types.FunctionType) and is_authors_code(function.__code__) else ""


def _nearest_or_members(name: str, cls: type, here: list[str], theirs: set[str] | None) -> str:
    near = spelling.nearest(name, [each for each in here if theirs and each in theirs] or here) or spelling.nearest(
        name, here
    )
    members = list(cls.__members__) if isinstance(cls, enum.EnumType) else here
    return f"did you mean `{near}`?" if near else _members(members, theirs)


def _upstream_members(value: Any, cls: type) -> set[str] | None:
    """The members of upstream's class with the name of `cls`, or of its bases; None if none is known."""
    classes: Sequence[type] = inspect.getmro(cls)
    if isinstance(value, type):
        classes = (*classes, *inspect.getmro(type(value)))
    members = [names for each in classes if (names := spelling.upstream(f"class {each.__name__.lstrip('_')}"))]
    return set().union(*members) if members else None


def _members(here: list[str], theirs: set[str] | None) -> str:
    shown = [each for each in here if theirs is None or each in theirs] or here
    return f"it has {', '.join(f'`{each}`' for each in shown)}"


# --- arguments -------------------------------------------------------------------------------------------------------


def _wrong_arguments(error: BaseException) -> DSLUserCodeTypeError | None:
    """A call of one of this package's functions that its parameters do not fit."""
    match, code, place = _ARITY.match(str(error)), innermost(error), place_of(error)
    if match is None or code is None:
        return None
    name = match[1].rpartition(".")[2]
    function = _called(error, place) or _method(match[1])
    ours = function is not None and str(getattr(inspect.unwrap(function), "__module__", "")).startswith("dsl.")
    if not ours and not (is_our_file(code.co_filename) and name in words(place)):
        return None
    if isinstance(function, type):
        name = function.__name__
    if ours and function is not None and not isinstance(function, type):
        inner = inspect.unwrap(function)
        if getattr(inner, "__name__", name) not in (name, getattr(function, "__name__", name)):
            return None
    id, what, fix = _mismatch(name, match[2], function if ours else None)
    owner = match[1].rpartition(".")[0]
    if (
        isinstance(function, types.FunctionType)
        and owner
        and _parameters(function)[:1]
        and "self" in str(_parameters(function)[0])
    ):
        fix = f"make an object first, and call its method: `x = {owner}()`, `x.{name}(...)`"
    return DSLUserCodeTypeError(what, fix, id=id, place=place).with_traceback(error.__traceback__)


def _called_value(error: BaseException) -> DSLUserCodeTypeError | None:
    """An attribute of one of this package's objects that is a value, called as if it were a method: `t.shape(0)`."""
    place = place_of(error)
    call = call_at(place)
    if call is None or not isinstance(call.func, ast.Attribute) or not str(error).endswith("object is not callable"):
        return None
    local, module_names, _ = names_at(error)
    space = {**module_names, **local}
    if not is_ours(evaluated(call.func.value, space)):
        return None
    value, text = evaluated(call.func, space), ast.unparse(call.func)
    index = ", ".join(map(ast.unparse, call.args))
    takes_index = isinstance(value, (tuple, list)) and len(call.args) == 1
    return DSLUserCodeTypeError(
        f"`{text}` is {type_name(value)}: it is not called",
        fix=f"write `{text}[{index}]`" if takes_index else f"write `{text}`",
        place=place,
    ).with_traceback(error.__traceback__)


def _mismatch(name: str, text: str, function: Callable | None) -> tuple[str, str, str]:
    """The diagnostic, the mistake and the fix for Python's message about a call of `function`."""
    parameters = _parameters(function) if function is not None else []
    names = [each.name for each in parameters]
    usage = f"{name}({', '.join(map(_spelt, parameters))})" if function is not None else ""
    if (wrong := re.search(r"unexpected keyword argument '(\w+)'", text)) is not None:
        near = spelling.nearest(wrong[1], names)
        upstream = spelling.upstream_parameters(function)
        if near is None and wrong[1] in upstream:
            return (
                "UNSUPPORTED_NAME",
                f"parameter `{wrong[1]}` of `{name}` is not part of this compiler yet",
                f"call it as `{usage}`",
            )
        return (
            "CALL_UNEXPECTED_KWARG",
            f"`{name}` has no parameter `{wrong[1]}`",
            f"did you mean `{near}`?" if near else f"call it as `{usage}`" if usage else "leave it out",
        )
    if text.startswith("missing"):
        lacks = text.partition(": ")[2].replace("'", "`")
        return "CALL_MISSING_ARG", f"`{name}` needs {lacks}", f"call it as `{usage}`" if usage else "give it"
    if text.startswith("got multiple"):
        twice = re.findall(r"'(\w+)'", text)[0]
        return "CALL_EXTRA_ARG", f"`{name}` gets `{twice}` twice", f"call it as `{usage}`" if usage else "give it once"
    counted = re.search(r"but (\d+)", text)
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    most = f"at most {len(positional)}" if positional else "no"
    got = int(counted[1]) - text.startswith("takes") * (_is_bound(function)) if counted else "more"
    return (
        "CALL_EXTRA_ARG",
        f"`{name}` takes {most} argument{'s' * (len(positional) != 1)} by position, got {got}"
        if usage
        else f"`{name}` {text}",
        f"call it as `{usage}`" if usage else "leave some out",
    )


def _is_bound(function: Callable | None) -> bool:
    return isinstance(function, (types.MethodType, type))


def _parameters(function: Callable) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    return [each for each in parameters if not each.name.startswith("_")]


def _spelt(parameter: inspect.Parameter) -> str:
    """A parameter as a call names it: `x`, `mode=`."""
    optional = parameter.default is not parameter.empty or parameter.kind is parameter.KEYWORD_ONLY
    return (
        {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        + parameter.name
        + ("=" if optional else "")
    )


def call_at(place: Span) -> ast.Call | None:
    """The author's expression at `place`, where it is a call."""
    expression = expression_at(place)
    return expression if isinstance(expression, ast.Call) else None


def expression_at(place: Span) -> ast.expr | None:
    """The author's expression at `place`; None where no expression's text is there."""
    lines = [linecache.getline(place.file, line) for line in range(place.line, (place.end_line or place.line) + 1)]
    if not lines or place.end_column is None:
        return None
    parts = [line.encode() for line in lines]
    parts[-1] = parts[-1][: place.end_column - 1]
    parts[0] = parts[0][place.column - 1 :]
    try:
        return ast.parse(b"(" + b"".join(parts) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _called(error: BaseException, place: Span) -> Callable | None:
    """The function that the author's expression at `place` calls, where names and attributes lead to it."""
    call = call_at(place)
    local, module_names, _ = names_at(error)
    callee = evaluated(call.func, {**vars(builtins), **module_names, **local}) if call is not None else None
    return callee if callable(callee) else None


def _method(qualified_name: str) -> Callable | None:
    """The method of this package that Python calls `Class.name`, bound to nothing."""
    owner, _, name = qualified_name.rpartition(".")
    for spelt, module in list(sys.modules.items()):
        cls = vars(module).get(owner) if owner and spelt.startswith("dsl.") and module is not None else None
        if isinstance(cls, type) and isinstance(function := vars(cls).get(name), types.FunctionType):
            return types.MethodType(function, cls)
    return None


def evaluated(node: ast.expr, space: dict[str, Any]) -> Any:
    """The value of a chain of names and attributes; None for any other expression."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if isinstance(node, ast.Attribute) and (owner := evaluated(node.value, space)) is not None:
        if isinstance(owner, types.ModuleType) or is_ours(owner):
            return getattr(owner, node.attr, None)
    return None
