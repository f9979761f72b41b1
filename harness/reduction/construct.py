"""The accesses and calls at a line of a program, in names that stay the same when lines move."""

from __future__ import annotations

import ast
import functools
from typing import Any


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def at(text: str, line: int, column: int = 0, part: str = "") -> frozenset[str]:
    """The accesses and calls at a line (1-based) of a program, as in {`x[]`, `values[]`} or {`cute.copy()`, `tile[]`}.

    A column (1-based) selects only the accesses of the expression that begins there, if one does. `part` selects the
    `target` or the `value` of an assignment. Nothing for a line without a statement; of a loop or a branch only its
    head counts.
    """
    tree = _tree(text)
    statement = _statement(tree, line) if tree else None
    if statement is None:
        return frozenset()
    nodes = [node for one in _head(statement) for node in ast.walk(one) if isinstance(node, ast.Subscript | ast.Call)]
    begun = [node for node in nodes if (node.lineno, node.col_offset) == (line, column - 1)]
    if begun:
        return frozenset({_name(min(begun, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0)))})
    return frozenset(map(_name, _of_part(statement, part) or nodes)) or frozenset({type(statement).__name__})


def _of_part(statement: ast.stmt, part: str) -> list[ast.Subscript | ast.Call]:
    """The accesses of the target or the value of an assignment; of a target the outermost alone."""
    match statement, part:
        case ast.Assign(targets=targets), "target":
            return [one for one in targets if isinstance(one, ast.Subscript)]
        case ((ast.AugAssign(target=target) | ast.AnnAssign(target=target)), "target"):
            return [target] if isinstance(target, ast.Subscript) else []
        case ((ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value)), "value"):
            return [node for node in ast.walk(value) if isinstance(node, ast.Subscript | ast.Call)]
    return []


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that holds the line."""
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if found is None or node.lineno >= found.lineno:
                found = node
    return found


def _head(statement: ast.stmt) -> list[ast.AST]:
    """The statement without the statements that it holds."""
    parts: list[ast.AST] = []
    for name, value in ast.iter_fields(statement):
        if name in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
            continue
        parts += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST)]
    return parts


def _name(node: ast.Subscript | ast.Call) -> str:
    if isinstance(node, ast.Call):
        return f"{ast.unparse(node.func).split('[')[0]}()"
    base = node.value
    while isinstance(base, ast.Subscript):
        base = base.value
    return f"{ast.unparse(base)}[]"


def loop(text: str, line: int) -> str:
    """The kind of the innermost loop around a line, with the accesses of its condition; '' where there is none."""
    tree: Any = _tree(text)
    found: Any = None
    for node in ast.walk(tree) if tree else ():
        is_loop = isinstance(node, ast.For | ast.While) and node.lineno <= line <= (node.end_lineno or node.lineno)
        if is_loop and (found is None or getattr(node, "lineno", 0) >= found.lineno):
            found = node
    if found is None:
        return ""
    parts = [found.test] if isinstance(found, ast.While) else [found.iter]
    names = {_name(node) for part in parts for node in ast.walk(part) if isinstance(node, ast.Subscript | ast.Call)}
    return " ".join([type(found).__name__.lower(), *sorted(names)])
