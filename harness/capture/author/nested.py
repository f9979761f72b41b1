"""Functions and classes that an author defines inside functions: their definition, and the values around it."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import types
from functools import cache
from typing import Any

from harness.capture.author.statement import Statement, first_line
from harness.capture.author.text import undecorated


def definition(value: Any) -> Statement | None:
    """The definition of a function or class, found by its place in its file; None if it has no text."""
    lines = _lines_of(value)
    tree = _tree("".join(lines))
    node = _node_of(value, tree) if tree is not None else None
    return None if node is None else Statement(node, lines, {getattr(node, "name", "")})


def _lines_of(value: Any) -> list[str]:
    """The lines of the file with the definition, or of the cell or executed text, which linecache keeps.

    A class without a file is in the text of its methods, or else in the last text that has a class of its name.
    """
    try:
        return inspect.findsource(value)[0]
    except (OSError, TypeError):
        if not isinstance(value, type):
            return []
    texts = [linecache.getlines(method.__code__.co_filename) for method in _methods(value)]
    texts += [entry[2] for entry in reversed(list(linecache.cache.values())) if len(entry) == 4 and entry[1] is None]
    head = re.compile(rf"\s*class\s+{value.__name__}\b")
    return next((lines for lines in texts if any(map(head.match, lines))), [])


def _methods(value: Any) -> list[types.FunctionType]:
    """The functions of a class; none of anything else."""
    functions = map(undecorated, vars(value).values()) if isinstance(value, type) else ()
    return [each for each in functions if isinstance(each, types.FunctionType)]


def globals_of(value: Any) -> dict[str, Any]:
    """The global variables of a function, or of the methods of a class."""
    for function in [value, *_methods(value)]:
        if isinstance(function, types.FunctionType):
            return function.__globals__
    return {}


def name_of(value: Any) -> str:
    """The name in the definition of a function or class; functools.wraps gives a function the name of another."""
    return value.__code__.co_name if isinstance(value, types.FunctionType) else value.__name__


def _node_of(value: Any, tree: ast.Module) -> ast.AST | None:
    code = getattr(value, "_original_code", None) or getattr(value, "__code__", None)
    kinds = (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef) if code else (ast.ClassDef,)
    fitting: list[Any] = []
    for node in ast.walk(tree):
        if not isinstance(node, kinds):
            continue
        if isinstance(node, ast.Lambda):
            if name_of(value) == "<lambda>" and code and node.lineno == code.co_firstlineno:
                fitting.append(node)
        elif node.name == name_of(value) and (code is None or first_line(node) == code.co_firstlineno):  # type: ignore[attr-defined]
            fitting.append(node)
    if code is not None and len(fitting) > 1:
        fitting = [each for each in fitting if _parameters(each) == _names(code)] or fitting
    if code is not None and len(fitting) > 1:
        fitting = [each for each in fitting if _is_of(each, code)] or fitting
    return fitting[0] if fitting else None


def _parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    return tuple(each.arg for each in [*node.args.posonlyargs, *node.args.args])


def _names(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount]


def _is_of(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether a lambda of the line is the one that has this code: the columns of its body are in it."""
    body = node.body
    columns = [place[2] for place in code.co_positions() if place[0] == body.lineno and place[2] and place[3]]
    return bool(columns) and all(body.col_offset <= column <= (body.end_col_offset or 0) for column in columns)


@cache
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def cells_of(value: Any) -> dict[str, types.CellType]:
    """The variables that a function, or the methods of a class, close over."""
    found = {}
    for function in [value] if isinstance(value, types.FunctionType) else map(undecorated, vars(value).values()):
        code = getattr(function, "_original_code", None) or getattr(function, "__code__", None)
        cells = getattr(function, "__closure__", None) or ()
        for name, cell in zip(code.co_freevars if code else (), cells):
            if name != "__class__" and _has_content(cell):
                found[name] = cell
    return found


def _has_content(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # not assigned yet
        return False


def defaults_of(value: Any, node: ast.AST) -> list[tuple[ast.expr, str, Any]]:
    """Defaults of parameters that are not literals: the expression, the parameter and its value."""
    if not isinstance(value, types.FunctionType):
        return []
    arguments = node.args  # type: ignore[attr-defined]
    named = [*arguments.posonlyargs, *arguments.args][len(_parameters(node)) - len(arguments.defaults) :]  # type: ignore[arg-type]
    rows = [(text, arg.arg, one) for text, arg, one in zip(arguments.defaults, named, value.__defaults__ or ())]
    for text, arg in zip(arguments.kw_defaults, arguments.kwonlyargs):
        if text is not None and arg.arg in (value.__kwdefaults__ or {}):
            rows.append((text, arg.arg, (value.__kwdefaults__ or {})[arg.arg]))
    return [row for row in rows if not _is_literal(row[0])]


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


def evaluated_with(value: Any, node: ast.AST) -> dict[str, Any]:
    """Names of the enclosing function that a definition uses once, in annotations and as base classes."""
    found: dict[str, Any] = {}
    if isinstance(node, ast.ClassDef):
        for base, kind in zip(node.bases, value.__bases__):
            if isinstance(base, ast.Name):
                found[base.id] = kind
    annotations = getattr(value, "__annotations__", {}) if isinstance(value, types.FunctionType) else {}
    for arg in ast.walk(node):
        if isinstance(arg, ast.arg) and isinstance(arg.annotation, ast.Name):
            annotation = annotations.get(arg.arg, "")
            if not isinstance(annotation, str):
                found[arg.annotation.id] = annotation
    return {name: value for name, value in found.items() if name not in vars(builtins)}
