"""The line of a repro at which an output gets its name. Standard library only."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def line_of(text: str, output: str) -> int:
    """The line at which `run` names the output: in a dict that it returns, else anywhere in it; 0 if nowhere.

    Names are `{"out": ...}`, `dict(out=...)` and `outputs["out"] = ...`.
    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return 0
    runs = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "run"]
    nodes = [node for run in runs for node in ast.walk(run)]
    returned = [node for one in nodes if isinstance(one, ast.Return) for node in ast.walk(one)]
    return next((line for node in [*returned, *nodes] for name, line in _names(node) if name == output), 0)


def _names(node: ast.AST) -> Iterator[tuple[object, int]]:
    """The names that this node gives to values, with their lines."""
    if isinstance(node, ast.Dict):
        yield from ((key.value, key.lineno) for key in node.keys if isinstance(key, ast.Constant))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        yield from ((keyword.arg, keyword.value.lineno) for keyword in node.keywords)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
        yield node.slice.value, node.lineno
