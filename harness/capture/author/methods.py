"""Methods of an author's classes that nothing in the captured file mentions."""

from __future__ import annotations

import ast

from harness.capture.author.statement import Statement


def drop_unused(statements: list[Statement], trees: list[ast.AST], called: set[str]) -> None:
    """Mark the methods of classes whose names nothing that is kept mentions, nor is `called`; dunder methods stay."""
    if any(_reads_any_attribute(node) for tree in trees for node in ast.walk(tree)):
        return
    methods = [
        (statement, node)
        for statement in statements
        if isinstance(statement.node, ast.ClassDef)
        for node in statement.node.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
    ]
    dropped: set[int] = {id(node) for _, node in methods}
    bases = {base for statement in statements for base in getattr(statement.node, "bases", ())}
    if any(not isinstance(base, ast.Name) for base in bases):
        dropped = set()
    mentioned = _mentioned(trees, dropped) | called
    while True:
        back = {id(node) for _, node in methods if id(node) in dropped and node.name in mentioned}
        if not back:
            break
        dropped -= back
        mentioned = _mentioned(trees, dropped) | called
    for statement, node in methods:
        if id(node) in dropped:
            statement.dropped.append(node)


def _reads_any_attribute(node: ast.AST) -> bool:
    """Whether it is `getattr` of a name that is computed."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"):
        return False
    return len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)


def _mentioned(trees: list[ast.AST], dropped: set[int]) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = list(trees)
    while waiting:
        node = waiting.pop()
        if id(node) in dropped:
            continue
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return found
