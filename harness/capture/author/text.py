"""An author's module as text: which statement binds which name, what a statement mentions, and its text again."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import io
import linecache
import re
import textwrap
import tokenize
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.capture.author import scopes

_ALIASED = {"dsl.cutlass": "cutlass", "dsl.quadrants": "quadrants", "dsl.tirx": "tvm"}
_CHANGING = set("append extend insert remove pop clear sort reverse add discard update setdefault popitem".split())
_LEGAL = re.compile(r"copyright|licen[sc]e|SPDX", re.IGNORECASE)


def public_name(module: str) -> str:
    """The name a program imports a module by: those of our alias are upstream's."""
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


@dataclass
class Statement:
    """One statement at the top of a module. `renamed`: names that are others in the captured file."""

    node: ast.AST
    place: int
    source: str
    binds: set[str]
    aliases: dict[str, ast.alias] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    dropped: list[ast.AST] = field(default_factory=list)  # methods that are left out
    # id of an import inside a function -> the import, and the lines that replace it
    replaced: dict[int, tuple[ast.stmt, list[str]]] = field(default_factory=dict)

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, (ast.Import, ast.ImportFrom))

    def loads(self) -> list[str]:
        """Names that it mentions anywhere, each once; those that text of an annotation mentions too."""
        found = dict.fromkeys(node.id for node in self._outer())
        for node in self._nodes():
            if isinstance(node, ast.Global):
                found.update(dict.fromkeys(node.names))
            for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                    found.update(dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", annotation.value)))
        return list(found)

    def inner_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports inside of it that have their lines for themselves."""
        lines, first = self.source.splitlines(), _first_line(self.node)
        found = []
        for node in self._nodes():
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node is not self.node:
                text = lines[node.lineno - first].lstrip() if node.lineno - first < len(lines) else ""
                if text.startswith(("import ", "from ")) and ";" not in text:
                    found.append(node)
        return found

    def attributes(self, name: str) -> set[str]:
        """The attributes that it reads of a name."""
        return {
            node.attr
            for node in self._nodes()
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        }

    def text(self) -> str:
        """Its source, with the other names and without what is dropped."""
        lines = self.source.splitlines(keepends=True)
        first, moved, column = _first_line(self.node), getattr(self.node, "moved", 0), 0
        if isinstance(self.node, ast.Lambda):
            first, column = self.node.lineno, self.node.col_offset - 1  # a parenthesis precedes it
        edits = {}
        for node in self._outer():
            if node.id in self.renamed:
                line = node.lineno - first
                edits[line, node.col_offset - moved - column * (line == 0)] = node.id
        if getattr(self.node, "name", None) in self.renamed:
            name, line = self.node.name, self.node.lineno - first  # type: ignore[attr-defined]
            edits[line, lines[line].index(f" {name}") + 1] = name
        for (line, byte), name in sorted(edits.items(), reverse=True):
            text = lines[line].encode()
            lines[line] = (text[:byte] + self.renamed[name].encode() + text[byte + len(name.encode()) :]).decode()
        for node in self._nodes():
            if isinstance(node, ast.Global) and set(node.names) & set(self.renamed):
                names = ", ".join(self.renamed.get(name, name) for name in node.names)
                line = node.lineno - first
                lines[line] = re.sub(r"global \w[\w, ]*", f"global {names}", lines[line])
        for line in _comments("".join(lines)):
            lines[line] = ""
        for node, new in self.replaced.values():
            line = node.lineno - first
            indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
            lines[line : (node.end_lineno or node.lineno) - first + 1] = [
                "".join(f"{indent}{each}\n" for each in new),
                *[""] * ((node.end_lineno or node.lineno) - node.lineno),
            ]
        left_out = {id(node) for node in [*self.dropped, *self._docstrings()]}
        if isinstance(self.node, ast.ClassDef) and all(id(node) in left_out for node in self.node.body):
            lines.append("    pass\n")
        for node in [*self.dropped, *self._docstrings()]:
            for line in range(_first_line(node) - first, (node.end_lineno or 0) - first + 1):  # type: ignore[attr-defined]
                lines[line] = ""
        return re.sub(r"\n\s*\n(?=\s*\n)", "\n", "".join(lines)).strip("\n")

    def _docstrings(self) -> Iterator[ast.AST]:
        for node in self._nodes():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and len(node.body) > 1:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                    yield first

    def _outer(self) -> Iterator[ast.Name]:
        return scopes.outer_names(self.node, frozenset(map(id, self.dropped)))

    def _nodes(self) -> Iterator[ast.AST]:
        """All of the tree but what is dropped."""
        dropped, waiting = {id(node) for node in self.dropped}, [self.node]
        while waiting:
            node = waiting.pop()
            if id(node) not in dropped:
                yield node
                waiting += ast.iter_child_nodes(node)


def _comments(text: str) -> list[int]:
    """The lines that have nothing but a comment."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
                found.append(token.start[0] - 1)
    except (tokenize.TokenError, IndentationError):  # the text of a lambda may be a part of a statement
        pass
    return found


@dataclass
class Module:
    """The statements of a module. `bindings`: name -> the statement that bound it last."""

    name: str
    package: str
    bindings: dict[str, Statement]
    licence: str
    has_future_annotations: bool
    statements: list[Statement] = field(default_factory=list)

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
            if name in statement.binds and not isinstance(node, ast.AugAssign):
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
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            has_future = True
            continue
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            continue
        for statement in _statements(node, place, lines):
            statements.append(statement)
            for name in statement.binds:
                bindings[name] = statement
    return Module(module.__name__, module.__package__ or "", bindings, _licence(lines), has_future, statements)


def _statements(node: ast.stmt, place: int, lines: list[str]) -> Iterator[Statement]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        aliases = {(one.asname or (one.name if isinstance(node, ast.ImportFrom) else one.name.partition(".")[0])): one
                   for one in node.names if one.name != "*"}  # fmt: skip
        yield Statement(node, place, "", set(aliases), aliases)
        return
    inner = [each for each in ast.walk(node) if isinstance(each, (ast.Import, ast.ImportFrom))]
    if isinstance(node, (ast.If, ast.Try)) and inner:
        for each in inner:  # each as if it stood alone: the program has run it, or the name is not there
            yield from _statements(each, place, lines)
    source = "".join(lines[_first_line(node) - 1 : node.end_lineno])
    if not source.endswith("\n"):
        source += "\n"
    yield Statement(node, place, source, _bound(node))


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
    return {
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, (ast.Store, ast.Del))
    }


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(each.lineno for each in decorators)])  # type: ignore[attr-defined]


def _licence(lines: list[str]) -> str:
    """The comment at the top of a file, where it speaks of a licence."""
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
    return "\n".join(head) if any(_LEGAL.search(line) for line in head) else ""


# ** definitions inside functions


def node_of(value: Any) -> ast.AST | None:
    """The definition of a function or class, by its place in its file; None where it has no text."""
    try:
        lines, _ = inspect.findsource(value)
    except (OSError, TypeError):
        return None
    tree = _tree("".join(lines))
    if tree is None:
        return None
    code = getattr(value, "_original_code", None) or getattr(value, "__code__", None)
    kinds = (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef) if code else (ast.ClassDef,)
    fitting = []
    for node in ast.walk(tree):
        if not isinstance(node, kinds):
            continue
        if isinstance(node, ast.Lambda):
            if value.__name__ == "<lambda>" and code and node.lineno == code.co_firstlineno:
                fitting.append(node)
        elif node.name == value.__name__ and (code is None or _first_line(node) == code.co_firstlineno):
            fitting.append(node)
    if code is not None and len(fitting) > 1:
        names = code.co_varnames[: code.co_argcount]
        fitting = [each for each in fitting if tuple(arg.arg for arg in each.args.args) == names] or fitting
    return fitting[0] if fitting else None


@cache
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def text_of(node: ast.AST, value: Any) -> str:
    """The text of a definition, moved to the left."""
    lines, _ = inspect.findsource(value)
    if isinstance(node, ast.Lambda):
        return f"({ast.get_source_segment(''.join(lines), node)})"
    text = "".join(lines[_first_line(node) - 1 : node.end_lineno])  # type: ignore[attr-defined]
    moved = textwrap.dedent(text)
    node.moved = len(text.partition("\n")[0]) - len(moved.partition("\n")[0])  # type: ignore[attr-defined]
    return moved if moved.endswith("\n") else moved + "\n"


# ** methods that nobody calls


def drop_unused_methods(statements: list[Statement], trees: list[ast.AST], called: set[str]) -> None:
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
