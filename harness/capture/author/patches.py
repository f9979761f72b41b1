"""Statements at the top of an author's modules that assign to a name of another one: `helper.f = g`."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
from collections.abc import Iterator

from harness.capture.author import text
from harness.capture.author.places import is_author
from harness.capture.author.statement import Statement

_ASSIGNED = re.compile(r"^[A-Za-z_][\w.]*\.\w+[^=\n]*=(?!=)", re.MULTILINE)

COMPILERS = ("dsl", "cutlass")  # packages whose classes are looked through

Patches = dict[tuple[str, str], list[tuple[types.ModuleType, Statement]]]


def patches() -> Patches:
    """(module, name) -> the statements that assign to it, each with its module."""
    found: Patches = {}
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType) or not is_author(module):
            continue
        lines = linecache.getlines(getattr(module, "__file__", None) or "", module.__dict__)
        if not _ASSIGNED.search("".join(lines)):
            continue
        source = text.read(module)
        for statement in source.statements if source else ():
            for key in _assigned(module, statement.node):
                found.setdefault(key, []).append((module, statement))
    return found


def changes_of_compilers() -> list[str]:
    """A sentence for each of the author's modules that put its own function into a class of the compiler."""
    modules = [(name, each) for name, each in list(sys.modules.items()) if isinstance(each, types.ModuleType)]
    authors = {id(vars(module)): name for name, module in modules if is_author(module)}
    found: dict[str, str] = {}
    for name, module in modules:
        kinds = vars(module).values() if name.partition(".")[0] in COMPILERS else ()
        for kind in [each for each in kinds if isinstance(each, type) and each.__module__ == name]:
            for attribute, value in list(vars(kind).items()):
                author = authors.get(id(getattr(value, "__globals__", None)))
                if author is not None:
                    found.setdefault(author, f"{kind.__name__}.{attribute}")
    return [
        f"{module} puts its own {what} into the compiler when it is imported, but the file has the original"
        for module, what in found.items()
    ]


def _assigned(module: types.ModuleType, node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names of other modules that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return
    for target in targets:
        if isinstance(target, ast.Attribute):
            owner = _module(module, target.value)
            if owner is not None and is_author(owner):
                yield owner.__name__, target.attr


def _module(module: types.ModuleType, node: ast.expr) -> types.ModuleType | None:
    """The module that a dotted name is."""
    if isinstance(node, ast.Name):
        value = module.__dict__.get(node.id)
    elif isinstance(node, ast.Attribute):
        inner = _module(module, node.value)
        value = inner.__dict__.get(node.attr) if inner is not None else None
    else:
        return None
    return value if isinstance(value, types.ModuleType) else None
