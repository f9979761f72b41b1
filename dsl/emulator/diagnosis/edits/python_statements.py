"""The statements of a Python file."""

from __future__ import annotations

import ast

from dsl.emulator.diagnosis.edits.statements import BRANCH, FUNCTION, LEAVE, LOOP, PLAIN, Statement, Statements

_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((ast.For, ast.While, ast.AsyncFor), LOOP),
    ((ast.FunctionDef, ast.AsyncFunctionDef), FUNCTION),
    ((ast.Break, ast.Continue, ast.Return, ast.Raise), LEAVE),
)
_ONE_LANE = "elect_one"
_STATIC = ("const_expr", "constexpr", "static")  # conditions that are the same for all threads


def parse(text: str) -> Statements | None:
    """The statements of a text; None if it is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return Statements(_body(tree.body, text.splitlines()))


def _body(nodes: list[ast.stmt], lines: list[str]) -> list[Statement]:
    return [_statement(node, lines) for node in nodes]


def _statement(node: ast.stmt, lines: list[str]) -> Statement:
    start = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    end = node.end_lineno or node.lineno
    before = lines[node.lineno - 1].encode()[: node.col_offset]
    after = lines[end - 1].encode()[node.end_col_offset :].decode().strip()
    bodies = [_body(body, lines) for body in _bodies(node)]
    return Statement(start, end, _kind(node), bodies, not before.strip(), not after or after.startswith("#"))


def _bodies(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements in a statement, also the lists of its handlers and cases."""
    found = []
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                found.append(value)
            elif isinstance(value[0], ast.ExceptHandler | ast.match_case):
                found += [body for each in value for body in _bodies(each)]
    return found


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.If | ast.Match):
        return PLAIN if isinstance(node, ast.If) and _is_static(node.test) else BRANCH
    if isinstance(node, ast.With) and any(_ONE_LANE in ast.unparse(each) for each in node.items):
        return BRANCH
    return next((kind for types, kind in _KINDS if isinstance(node, types)), PLAIN)


def _is_static(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and ast.unparse(test.func).rpartition(".")[2] in _STATIC
