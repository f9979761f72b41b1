"""An author's module as statements: which one binds which name, and which ones change what a name means."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.capture.author import scopes
from harness.capture.author.statement import Statement, is_docstring

_ALIASED = {  # the first that fits
    "dsl.cutlass": "cutlass",
    "dsl.quadrants": "quadrants",
    "dsl.tirx.tvm_tirx": "tvm_tirx",
    "dsl.tirx": "tvm",
}
_CHANGING = set("append extend insert remove pop clear sort reverse add discard update setdefault popitem".split())
_LEGAL = re.compile(r"copyright|licen[sc]e|SPDX", re.IGNORECASE)
_COPYRIGHT = re.compile(r"copyright \(c\)|copyright \d|SPDX-License", re.IGNORECASE)


def public_name(module: str) -> str:
    """The name by which a program imports a module; modules of our alias have the upstream names."""
    for ours, theirs in _ALIASED.items():
        if module == ours or module.startswith(ours + "."):
            return theirs + module[len(ours) :]
    return module


def undecorated(value: Any) -> Any:
    """The author's function under a compiler's decorator."""
    function = getattr(value, "function", None)
    if isinstance(function, types.FunctionType) and hasattr(value, "grammar"):
        return function
    if isinstance(value, (staticmethod, classmethod)):
        return undecorated(value.__func__)
    while isinstance(value, types.FunctionType) and hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value


def parts_of(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that run with its module: none inside of a function."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


@dataclass
class Module:
    """The statements of a module. `bindings`: name -> the statement that bound it last."""

    name: str
    package: str
    bindings: dict[str, Statement]
    licence: str
    has_future_annotations: bool
    statements: list[Statement] = field(default_factory=list)

    def bindings_of(self, name: str) -> list[Statement]:
        """The statements that bind a name, in order; of imports, only the last."""
        last = self.bindings[name]
        return [one for one in self.statements if name in one.binds and (one is last or not one.is_import)]

    def changes(self, name: str, is_container: bool) -> list[Statement]:
        """The statements that change what a name means and do not bind it: by an item or an attribute of it, by a
        method where it is a container, or by a function of this module that does so: a registration."""
        changers = {
            statement.node.name
            for statement in self.statements
            if isinstance(statement.node, ast.FunctionDef) and _changes(statement.node, name, is_container)
        }
        found = []
        for statement in self.statements:
            node = statement.node
            if name in statement.binds:
                continue
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if any(_callee(each) in changers for each in node.decorator_list):
                    found.append(statement)
            elif not statement.is_import and (
                _changes(node, name, is_container)
                or any(isinstance(each, ast.Call) and _callee(each) in changers for each in ast.walk(node))
            ):
                found.append(statement)
        return found

    def origin_of(self, node: ast.ImportFrom) -> str:
        """The module that a `from` import names, absolute."""
        return importlib.util.resolve_name("." * node.level + (node.module or ""), self.package or None)

    def origin(self, statement: Statement) -> str:
        """The module that a `from` statement names, absolute."""
        node = statement.node
        if not isinstance(node, ast.ImportFrom):
            return ""
        return self.origin_of(node)


def _callee(node: ast.expr) -> str:
    """The name that a call or a decorator calls, "" if there is none."""
    function = node.func if isinstance(node, ast.Call) else node
    return function.id if isinstance(function, ast.Name) else ""


def _changes(node: ast.AST, name: str, is_container: bool) -> bool:
    """Whether a statement stores an item or attribute of a name, or calls a method of it."""
    for each in ast.walk(node):
        stored = isinstance(each, (ast.Subscript, ast.Attribute)) and not isinstance(each.ctx, ast.Load)
        called = is_container and isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
        if stored or (called and _method(each) in _CHANGING):
            of = each
            while isinstance(of, (ast.Subscript, ast.Attribute, ast.Call)):
                of = of.func if isinstance(of, ast.Call) else of.value
            if isinstance(of, ast.Name) and of.id == name:
                return True
    return False


def _method(call: ast.AST) -> str:
    return call.func.attr  # type: ignore[attr-defined]


_read: dict[str, tuple[types.ModuleType, Module | None]] = {}


def read(module: types.ModuleType) -> Module | None:
    """The author's module as statements; None where its text is not at hand."""
    known = _read.get(module.__name__)
    if known is None or known[0] is not module:
        known = _read[module.__name__] = module, _parsed(module)
    return known[1]


def forget() -> None:
    """Read every module again."""
    _read.clear()


def _parsed(module: types.ModuleType) -> Module | None:
    lines = linecache.getlines(getattr(module, "__file__", None) or "", module.__dict__)
    if not lines:
        return None
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    bindings: dict[str, Statement] = {}
    has_future = False
    statements: list[Statement] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            has_future = True
            continue
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            continue
        for statement in _statements(node, lines):
            statements.append(statement)
            for name in statement.binds:
                bindings[name] = statement
    legal = _licence(lines, tree)
    return Module(module.__name__, module.__package__ or "", bindings, legal, has_future, statements)


def _statements(node: ast.stmt, lines: list[str]) -> Iterator[Statement]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        aliases = {(one.asname or (one.name if isinstance(node, ast.ImportFrom) else one.name.partition(".")[0])): one
                   for one in node.names if one.name != "*"}  # fmt: skip
        yield Statement(node, lines, set(aliases), aliases)
        return
    inner = [each for each in parts_of(node) if isinstance(each, (ast.Import, ast.ImportFrom))]
    if isinstance(node, (ast.If, ast.Try)):
        for each in inner:  # each as if it stood alone: the program has run it, or the name is not there
            yield from _statements(each, lines)
    yield Statement(node, lines, _bound(node))


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds in its module."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, (ast.If, ast.Try, ast.For, ast.While, ast.With)):
        found: set[str] = set()
        for field_name in ("body", "orelse", "finalbody", "handlers"):
            for each in getattr(node, field_name, ()):
                if isinstance(each, ast.ExceptHandler):
                    found |= {name for one in each.body for name in _bound(one)}
                elif not isinstance(each, (ast.Import, ast.ImportFrom)):
                    found |= _bound(each)
        return found
    return set(scopes.bound([node]))


def _licence(lines: list[str], tree: ast.Module) -> str:
    """The comment or docstring at the top of a file, if it names a licence."""
    head = []
    for line in lines:
        if line.startswith("#") and not line.startswith(("#!", "# /// ")):
            head.append(line.rstrip())
        elif line.strip():
            break
        elif head:
            head.append("#")
    while head and not head[-1].strip("# "):
        head.pop()
    if not any(_LEGAL.search(line) for line in head):
        head = []
    about = ast.get_docstring(tree) if tree.body and is_docstring(tree.body[0]) else None
    if about and not head and _COPYRIGHT.search(about):
        head = [f"# {line}".rstrip() for line in about.splitlines()]
    return "\n".join(head)
