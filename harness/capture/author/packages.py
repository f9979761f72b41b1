"""Which packages code needs, with the versions that are installed."""

from __future__ import annotations

import ast
import importlib.metadata
import sys
from functools import cache


def packages_of(code: str) -> dict[str, str]:
    """The distributions that a module imports, with the versions that are installed."""
    roots = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    names = {name for root in roots - sys.stdlib_module_names for name in _distributions().get(root, ())[:1]}
    return {name: importlib.metadata.version(name).partition("+")[0] for name in names}


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())
