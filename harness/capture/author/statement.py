"""One statement of an author's program: the names that it takes from outside, and its text with changed names."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from harness.capture.author import scopes

MOST_DOCSTRING_LINES = 3


@dataclass
class Use:
    """A name from outside of a statement, and the attributes that are read of it, the first one first."""

    node: ast.Name
    attributes: list[ast.Attribute] = field(default_factory=list)


@dataclass
class Statement:
    """One statement of a file. `lines`: the whole file. `binds`: the names that it gives its module."""

    node: ast.AST
    lines: list[str]
    binds: set[str]
    aliases: dict[str, ast.alias] = field(default_factory=dict)
    dropped: list[ast.AST] = field(default_factory=list)  # methods that are left out
    # The texts of nodes in the captured file, by id of the node.
    replaced: dict[int, tuple[ast.AST, str]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    cells: set[str] = field(default_factory=set)  # closure variables, which become variables of the module
    stored: list[tuple[ast.AST, str]] = field(default_factory=list)  # (function, global name that it assigns to)
    undecorated: list[ast.expr] = field(default_factory=list)  # decorators that are left out
    has_future_annotations: bool = False  # its file has: annotations are text
    quotes_annotations: bool = False  # they are written as such

    def begin(self, has_future_annotations: bool = False) -> None:
        """Forget the changes of an earlier file."""
        self.has_future_annotations, self.quotes_annotations = has_future_annotations, False
        self.replaced, self.renamed, self.cells, self.stored, self.undecorated = {}, {}, set(), [], []

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, (ast.Import, ast.ImportFrom))

    @cached_property
    def parents(self) -> dict[int, ast.AST]:
        """id of a node -> the node around it."""
        return {id(child): node for node in ast.walk(self.node) for child in ast.iter_child_nodes(node)}

    def uses(self) -> list[Use]:
        """The names that it takes from outside, each time it does."""
        return [self.use_of(node) for node in self._outer()]

    def use_of(self, node: ast.Name) -> Use:
        use, inner = Use(node), node
        while isinstance(outer := self.parents.get(id(inner)), ast.Attribute):
            use.attributes.append(outer)
            inner = outer
        return use

    def other_names(self) -> list[str]:
        """Names in `global` statements and in annotations that are strings."""
        found: dict[str, None] = {}
        for node in self.nodes():
            if isinstance(node, ast.Global):
                found.update(dict.fromkeys(node.names))
            for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                    found.update(dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", annotation.value)))
        return list(found)

    def loads(self) -> list[str]:
        """Every name that it mentions and does not bind inside, each once."""
        return list(dict.fromkeys([*(node.id for node in self._outer()), *self.other_names()]))

    def inner_names(self) -> set[str]:
        """Names that parameters and variables of the functions and classes in it have."""
        stored = [(node, name) for node in self.nodes() if (name := self._stored(node))]
        return {name for node, name in stored if name not in self.binds or self.function_around(node) is not None}

    def _stored(self, node: ast.AST) -> str | None:
        """The name that a node binds."""
        if isinstance(node, ast.arg):
            return node.arg
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            return node.id
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node is not self.node:
            return node.name
        if isinstance(node, ast.alias) and not self.is_import:
            return (node.asname or node.name).partition(".")[0]
        return node.name if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) else None

    def inner_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports inside of it."""
        return [n for n in self.nodes() if isinstance(n, (ast.Import, ast.ImportFrom)) and n is not self.node]

    def function_around(self, node: ast.AST) -> ast.AST | None:
        """The innermost function that a node is in, None where it runs with its module."""
        around = self.parents.get(id(node))
        while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            around = self.parents.get(id(around))
        return around

    def annotations(self) -> list[ast.expr]:
        """The annotations of parameters, results and variables in it, without those that are strings already."""
        found = [getattr(node, name, None) for node in self.nodes() for name in ("annotation", "returns")]
        return [each for each in found if each is not None and not isinstance(getattr(each, "value", None), str)]

    def leave_out_decorators(self) -> None:
        """Have it without its decorators."""
        for node in getattr(self.node, "decorator_list", ()):
            self.undecorated.append(node)

    def inside_of_replaced(self) -> set[int]:
        """The nodes that the captured file has no more: they need nothing."""
        gone = [node for node, _ in self.replaced.values()] + self.undecorated
        return {id(each) for node in gone for each in ast.walk(node)}

    def _outer(self) -> Iterator[ast.Name]:
        return scopes.outer_names(self.node, frozenset(map(id, self.dropped)))

    def nodes(self) -> Iterator[ast.AST]:
        """All of the tree but what is dropped."""
        dropped, waiting = {id(node) for node in self.dropped}, [self.node]
        while waiting:
            node = waiting.pop()
            if id(node) not in dropped:
                yield node
                waiting += ast.iter_child_nodes(node)

    def text(self) -> str:
        """Its source with the new names, without what is dropped; of docstrings, the first paragraph."""
        text = Text(self.lines, self.node)
        for node, new in self.replaced.values():
            text.replace(node, new)
        for node in self._outer():
            if node.id in self.renamed and id(node) not in self.replaced:
                text.replace(node, self.renamed[node.id])
        for node in _definitions(self.node):
            if node.name in self.renamed:
                text.rename(node, self.renamed[node.name])
        for node in self.nodes():
            if isinstance(node, ast.Global) and set(node.names) & set(self.renamed):
                text.replace(node, "global " + ", ".join(self.renamed.get(name, name) for name in node.names))
            elif isinstance(node, ast.Nonlocal) and set(node.names) & self.cells:
                own = [self.renamed.get(name, name) for name in node.names if name in self.cells]
                rest = [name for name in node.names if name not in self.cells]
                text.replace(node, f"global {', '.join(own)}" + (f"; nonlocal {', '.join(rest)}" if rest else ""))
        for node in self.annotations() if self.quotes_annotations else ():
            text.quote(node)
        for function, name in dict.fromkeys(self.stored):
            text.insert(_first_statement(function), f"global {name}")
        for node in self.nodes():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and len(node.body) > 1:
                text.shorten_docstring(node.body[0])
        for node in [*self.dropped, *self.undecorated]:
            text.remove(node)
        left_out = set(map(id, self.dropped))
        if isinstance(self.node, ast.ClassDef) and all(id(node) in left_out for node in self.node.body):
            text.append("    pass\n")
        return text.result()


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes that a statement gives its module."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node  # type: ignore[misc]
    elif isinstance(node, (ast.If, ast.Try, ast.For, ast.While, ast.With, ast.ExceptHandler)):
        for child in ast.iter_child_nodes(node):
            yield from _definitions(child)


def _first_statement(function: ast.AST) -> ast.stmt:
    """The first statement of a function after its docstring."""
    body = function.body  # type: ignore[attr-defined]
    return body[1] if len(body) > 1 and is_docstring(body[0]) else body[0]


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def first_line(node: ast.AST) -> int:
    """The line that a statement begins on, with its decorators."""
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(each.lineno for each in decorators)])  # type: ignore[attr-defined]


class Text:
    """The source of a node, changed at places that other nodes of it have."""

    def __init__(self, lines: list[str], node: ast.AST):
        self._node, self._first = node, first_line(node)
        end: int = node.end_lineno  # type: ignore[attr-defined]
        self._data = "".join(lines[self._first - 1 : end]).encode()  # ast counts columns in bytes
        self._starts = [0]
        for line in lines[self._first - 1 : end]:
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._edits: list[tuple[int, int, bytes]] = []
        self._more = ""

    def _span(self, node: ast.AST) -> tuple[int, int]:
        first, last = node.lineno - self._first, node.end_lineno - self._first  # type: ignore[attr-defined]
        return self._starts[first] + node.col_offset, self._starts[last] + node.end_col_offset  # type: ignore[attr-defined]

    def replace(self, node: ast.AST, new: str) -> None:
        begin, end = self._span(node)
        if isinstance(node, ast.Name) and self._data[begin:end] != node.id.encode():
            begin, end = self._in_string(node)
        self._edits.append((begin, end, new.encode()))

    def _in_string(self, name: ast.Name) -> tuple[int, int]:
        """The place of a name in an f-string, which Python 3.11 does not give: the next such name that is not taken."""
        strings = [n for n in ast.walk(self._node) if isinstance(n, ast.JoinedStr) and name in ast.walk(n)]
        begin, end = self._span(strings[0]) if strings else (0, len(self._data))
        taken = {edit[0] for edit in self._edits}
        places = re.finditer(rb"(?<![\w.])" + re.escape(name.id.encode()) + rb"(?!\w)", self._data[begin:end])
        place = next((each for each in places if begin + each.start() not in taken), None)
        if place is None:
            return begin, begin
        return begin + place.start(), begin + place.end()

    def rename(self, node: ast.FunctionDef | ast.ClassDef, new: str) -> None:
        """Give a definition another name."""
        begin = self._starts[node.lineno - self._first]
        place = re.compile(rb"(?:def|class)\s+(" + re.escape(node.name.encode()) + rb")\b").search(self._data, begin)
        if place is not None:
            self._edits.append((place.start(1), place.end(1), new.encode()))

    def quote(self, node: ast.AST) -> None:
        """Make a string of an expression."""
        begin, end = self._span(node)
        inner = self._data[begin:end].decode()
        marks = ('"""', "'''") if "\n" in inner else ('"', "'", '"""', "'''")
        mark = next((each for each in marks if each not in inner and not inner.endswith(each[0])), None)
        if mark is not None:
            self._edits += [(begin, begin, mark.encode()), (end, end, mark.encode())]

    def insert(self, node: ast.stmt, new: str) -> None:
        """A statement before another one."""
        begin = self._starts[first_line(node) - self._first]
        before = self._data[begin : begin + node.col_offset]
        if before.strip():
            self._edits.append((begin + node.col_offset, begin + node.col_offset, f"{new}; ".encode()))
        else:
            self._edits.append((begin, begin, before + f"{new}\n".encode()))

    def remove(self, node: ast.AST) -> None:
        """Leave out the lines of a node, and the lines of comments directly before it."""
        first, last = first_line(node) - self._first, node.end_lineno - self._first  # type: ignore[attr-defined]
        while first > 1 and self._data[self._starts[first - 1] : self._starts[first]].lstrip().startswith(b"#"):
            first -= 1
        self._edits.append((self._starts[first], self._starts[last + 1], b""))

    def shorten_docstring(self, node: ast.stmt) -> None:
        if not is_docstring(node):
            return
        begin, end = self._span(node)
        text = self._data[begin:end].decode()
        lines = text.split("\n")
        if len(lines) <= MOST_DOCSTRING_LINES or text[-3:] not in ('"""', "'''"):
            return
        begun = 1 if lines[0].strip("rR\"' \\") else 2
        blank = next((at for at, line in enumerate(lines) if at >= begun and not line.strip()), len(lines))
        if blank < len(lines):
            self._edits.append((begin, end, ("\n".join(lines[:blank]).rstrip() + text[-3:]).encode()))

    def append(self, text: str) -> None:
        self._more += text

    def result(self) -> str:
        """The text, moved to the left."""
        begin, end = self._starts[0], len(self._data)
        if isinstance(self._node, ast.Lambda):
            begin, end = self._span(self._node)
        parts, at = [], begin
        for first, last, new in sorted(self._edits, key=lambda edit: (edit[0], edit[1] > edit[0], -edit[1])):
            if first < at or last > end:  # inside of what is left out
                continue
            parts += [self._data[at:first], new]
            at = last
        text = b"".join([*parts, self._data[at:end]]).decode()
        if isinstance(self._node, ast.Lambda):
            return f"({text})"
        text = textwrap.dedent(text + self._more if text.endswith("\n") else f"{text}\n{self._more}")
        return re.sub(r"\n\s*\n(?=\s*\n)", "\n", text).strip("\n")
