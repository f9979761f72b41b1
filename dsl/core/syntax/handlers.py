"""Handlers of exceptions that values known only at run time do not raise: which they are, and the operands to ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def _divisor(node: ast.AST) -> ast.expr | None:
    return node.right if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)) else None


def _index(node: ast.AST) -> ast.expr | None:
    return node.slice if isinstance(node, ast.Subscript) else None


# The operand that each exception is about.
_OPERANDS = {"ZeroDivisionError": _divisor, "ArithmeticError": _divisor, "IndexError": _index, "LookupError": _index}


def arithmetic_handlers(node: ast.Try | ast.TryStar) -> Iterator[tuple[ast.expr, str, list[ast.Name]]]:
    """For each handler of one of these exceptions: the expression that names it, the name, and the variables in the
    body that it is about."""
    parts = [part for statement in node.body for part in ast.walk(statement)]
    for handler in node.handlers:
        if handler.type is None:
            continue
        names = {part.id for part in ast.walk(handler.type) if isinstance(part, ast.Name)}
        for name in sorted(names & _OPERANDS.keys()):
            operands = [operand for operand in map(_OPERANDS[name], parts) if isinstance(operand, ast.Name)]
            if operands:
                yield handler.type, name, operands
