"""The order in which a program ran the statements of its modules: an import runs the module there, once."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator, Mapping

from harness.capture.author import text
from harness.capture.author.places import is_author
from harness.capture.author.statement import Statement


def statements(modules: Mapping[str, types.ModuleType]) -> Iterator[Statement]:
    """All statements of these modules, and of those that they import, in this order."""
    ended = [name for name in list(sys.modules) if name in modules]  # Python moves a module to the end when it has run
    roots: list[str] = []
    reached: set[str] = set()
    for name in reversed(list(dict.fromkeys([*(name for name in modules if name not in ended), *ended]))):
        if name not in reached:
            roots.append(name)
            for _ in _run(modules[name], reached):
                pass
    begun: set[str] = set()
    for name in reversed(roots):
        yield from _run(modules[name], begun)


def _run(module: types.ModuleType, begun: set[str]) -> Iterator[Statement]:
    if module.__name__ in begun:
        return
    begun.add(module.__name__)
    source = text.read(module)
    for statement in source.statements if source else ():
        if isinstance(statement.node, (ast.Import, ast.ImportFrom)):
            for name in _imported(source, statement.node):
                other = sys.modules.get(name)
                if other is not None and is_author(other):
                    yield from _run(other, begun)
        else:
            yield statement


def _imported(source: text.Module | None, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that an import runs, those around it first."""
    if isinstance(node, ast.ImportFrom):
        origin = source.origin_of(node) if source else ""
        names = [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    else:
        names = [alias.name for alias in node.names]
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))
