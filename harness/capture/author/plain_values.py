"""Values that are written as they are: numbers, text, and containers of them."""

from __future__ import annotations

import ast
from typing import Any

_PLAIN = (bool, int, float, str, bytes, type(None))


def is_plain(value: Any) -> bool:
    """Whether it is a number or text, or a container of such: its repr gives it again."""
    if type(value) is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return type(value) in _PLAIN or (type(value) in (tuple, list, set, frozenset) and all(map(is_plain, value)))


def part_of(written: Any, node: ast.Assign | ast.AnnAssign, name: str) -> Any:
    """The value that an assignment of a literal gives to a name: a part of it for `a, b = 1, 2`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(written, (tuple, list)):
        parts = {each.id: part for each, part in zip(target.elts, written) if isinstance(each, ast.Name)}
        return parts.get(name, ...)
    return written
