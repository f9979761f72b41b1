"""The place in an author's statement where a list, dict or set changes its shape: found in the text, by its name."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from dsl.core.syntax.function_source import place_in
from dsl.span import Span

_METHODS = {
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "add",
    "discard",
    "update",
    "setdefault",
    "popitem",
    "appendleft",
    "popleft",
    "extendleft",
    "__setitem__",
    "__delitem__",
}


def changed_at(name: str, statement: Span) -> Span | None:
    """The place in the statement whose header is at `statement` that changes `name`'s shape; None where that cannot be
    seen in the text: another function does it.

    A change under another name counts where it is the only one.
    """
    node = _statement_at(statement)
    if node is None:
        return None
    changes = [(_text(target), place) for target, place in _changes(node)]
    named = [place for text, place in changes if text == name]
    if not named and len(changes) == 1:
        named = [changes[0][1]]
    if not named:
        return None
    at = named[0]
    return place_in(statement.file, at)


def _statement_at(place: Span) -> ast.stmt | None:
    """The innermost `for`, `while` or `if` whose header has `place`."""
    try:
        tree = ast.parse("".join(linecache.getlines(place.file)))
    except (SyntaxError, ValueError):
        return None
    best = None
    for node in ast.walk(tree):
        if not isinstance(node, (ast.For, ast.While, ast.If)):
            continue
        header = node.iter if isinstance(node, ast.For) else node.test
        if node.lineno <= place.line <= (header.end_lineno or header.lineno):
            best = node if best is None or node.lineno >= best.lineno else best
    return best


def _changes(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | ast.stmt]]:
    """(what is changed, the expression or statement that does it) each, in the order of the text."""
    for node in sorted(
        (each for each in ast.walk(statement) if isinstance(each, (ast.expr, ast.stmt))),
        key=lambda each: (each.lineno, each.col_offset),
    ):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            yield node.func.value, node
        elif isinstance(node, ast.AugAssign):
            yield node.target, node
        elif isinstance(node, (ast.Assign, ast.Delete)):
            yield from ((target.value, target) for target in node.targets if isinstance(target, ast.Subscript))


def _text(node: ast.expr) -> str:
    """An expression as `mutable_state` names what it reaches: `xs`, `s.items`, `xs[0]`."""
    return ast.unparse(node)
