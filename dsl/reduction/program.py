"""A Python program as passes see it: its text, its syntax tree, where each node is, who defines and reads a name."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from dsl.reduction.edit import Change, Edit, merged, spliced

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
BLOCKS = ("body", "orelse", "finalbody")
ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr)


class Refused(Exception):
    """Edits that cannot be applied together; the message gives the reason."""


class Program:
    """Text (line ends as `\\n`) and what can be read off it. Raises SyntaxError, ValueError, RecursionError."""

    def __init__(self, source: str):
        self.source = source.replace("\r\n", "\n").replace("\r", "\n")
        self.text = self.source.encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(self.source)
        self.seen: dict[str, frozenset[int]] = {}  # lines that a run reports
        self.kept: dict[str, Any] = {}  # what modules of passes found out about it
        self.starts = [0]
        for line in self.text.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.nodes = list(ast.walk(self.tree))
        self.parent: dict[ast.AST, ast.AST] = {
            child: node for node in self.nodes for child in ast.iter_child_nodes(node)
        }
        self.blocks: list[list[ast.stmt]] = [
            block
            for node in self.nodes
            for name in BLOCKS
            if isinstance(block := getattr(node, name, None), list) and block and isinstance(block[0], ast.stmt)
        ]

    # ** places

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a node; the bytes of a function or class begin with its decorators."""
        first, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            start = self.starts[decorators[0].lineno - 1]
            start = self.text.rindex(b"@", start, self.at(decorators[0].lineno, decorators[0].col_offset))
        else:
            start = self.at(first, column)
        return start, self.at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.text[slice(*self.span(node))].decode()

    def line_of(self, place: int) -> int:
        """The line (1-based) of a byte."""
        return self.text.count(b"\n", 0, place) + 1

    def line_start(self, place: int) -> int:
        return self.text.rfind(b"\n", 0, place) + 1

    def line_end(self, place: int) -> int:
        """The place after the end of the line in which the byte is."""
        end = self.text.find(b"\n", place)
        return len(self.text) if end < 0 else end + 1

    def indentation(self, node: ast.AST) -> bytes | None:
        """The white space before a statement in its line, or None if there is other text."""
        start = self.span(node)[0]
        before = self.text[self.line_start(start) : start]
        return None if before.strip(b" \t\f") else before

    def has_own_lines(self, node: ast.stmt) -> bool:
        """Whether a statement's lines contain nothing else, except comments."""
        after = self.text[self.span(node)[1] : self.line_end(self.span(node)[1])].strip()
        return self.indentation(node) is not None and (not after or after.startswith(b"#"))

    # ** structure

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """In order of their places."""
        found = [node for node in self.nodes if isinstance(node, ast.stmt)]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in self.statements if isinstance(node, Function)]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.statements if isinstance(node, ast.ClassDef)]

    @cached_property
    def claim(self) -> tuple[ast.stmt, ...]:
        """The docstring and `run` of a repro, without which it is none; nothing of a script."""
        entry = [each for each in self.tree.body if isinstance(each, Function) and each.name == "run"]
        if not entry or ast.get_docstring(self.tree) is None or ("tool.repro" not in self.source and self._is_script):
            return ()
        return (self.tree.body[0], *entry)

    @property
    def _is_script(self) -> bool:
        """Whether the module runs something itself: it has a main block, or a `run` with parameters."""
        guards = [each for each in self.tree.body if isinstance(each, ast.If) and "__name__" in ast.dump(each.test)]
        runs = [each for each in self.tree.body if isinstance(each, Function) and each.name == "run"]
        return bool(guards) or any(len(each.args.args) > len(each.args.defaults) for each in runs)

    @cached_property
    def block_of(self) -> dict[ast.stmt, list[ast.stmt]]:
        return {statement: block for block in self.blocks for statement in block}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, from the inside out."""
        while node in self.parent:
            node = self.parent[node]
            yield node

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, class or module around a node."""
        return next((each for each in self.around(node) if isinstance(each, SCOPES)), self.tree)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is a part of."""
        while not isinstance(node, ast.stmt):
            node = self.parent[node]
        return node

    @cached_property
    def names(self) -> dict[str, list[ast.Name]]:
        """The nodes of each plain name."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.setdefault(node.id, []).append(node)
        return found

    @cached_property
    def attributes(self) -> dict[str, list[ast.Attribute]]:
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                found.setdefault(node.attr, []).append(node)
        return found

    @cached_property
    def declared(self) -> dict[str, list[ast.Global | ast.Nonlocal]]:
        """The `global` and `nonlocal` statements of a name."""
        found: dict[str, list[ast.Global | ast.Nonlocal]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Global | ast.Nonlocal):
                for name in node.names:
                    found.setdefault(name, []).append(node)
        return found

    @cached_property
    def words(self) -> set[str]:
        """Names that a string or a `global` statement may mean."""
        found = {node.value for node in self.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        return found | {*self.declared}

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.source).readline))

    def token_start(self, place: tuple[int, int]) -> int:
        """The byte of a token's place, whose column counts characters."""
        line, column = place
        start = self.starts[line - 1]
        return start + len(self.text[start : self.starts[line] - 1].decode()[:column].encode())

    @cached_property
    def starts_in_strings(self) -> set[int]:
        """The starts of lines that are the text of a string."""
        found: set[int] = set()
        for node in self.nodes:
            if not isinstance(node, ast.JoinedStr | ast.Constant):
                continue
            if isinstance(node, ast.JoinedStr) or isinstance(node.value, str | bytes):
                found.update(self.starts[node.lineno : node.end_lineno])
        return found

    # ** what edits are made of

    def deletion(self, node: ast.stmt) -> Change:
        """A statement goes, with its lines where they are its own."""
        start, end = self.span(node)
        if self.has_own_lines(node):
            return Change(self.line_start(start), self.line_end(end))
        following = end
        while self.text[following : following + 1] in (b" ", b"\t", b";"):
            following += 1
        if b";" in self.text[end:following] and self.text[following : following + 1] not in (b"\n", b"#", b""):
            return Change(start, following)  # another statement follows in the line
        return Change(start, end, b"pass")

    def delete(self, about: str, *nodes: ast.stmt) -> Edit:
        return Edit(about, nodes[0].lineno, [self.deletion(node) for node in nodes])

    def cut(self, start: int, end: int) -> Change:
        """The bytes from one place to another go."""
        return Change(start, end)

    def replacement(self, node: ast.AST, text: str) -> Change:
        """An expression or statement becomes other text."""
        return Change(*self.span(node), text.encode())

    def instead(self, node: ast.expr, part: ast.expr) -> list[Change]:
        """An expression becomes one of its parts, in parentheses unless these are of no use."""
        (start, end), (first, last) = self.span(node), self.span(part)
        if not self._stands_alone(node, part):
            return [Change(start, end, b"(" + self.text[first:last] + b")")]
        joined = start and _is_word(self.text[start - 1]) and not _is_word(self.text[first])
        if joined or (last != end and end < len(self.text) and _is_word(self.text[end])):
            return [Change(start, end, b" " + self.text[first:last] + b" ")]
        return [Change(*place) for place in ((start, first), (last, end)) if place[0] < place[1]]

    def has_parentheses(self, node: ast.Tuple) -> bool:
        """Whether a tuple's parentheses are its own, and not the parentheses of its first element or none."""
        start = self.span(node)[0]
        return self.text[start : start + 1] == b"(" and (not node.elts or self.span(node.elts[0])[0] > start)

    def _stands_alone(self, node: ast.expr, part: ast.expr) -> bool:
        """Whether a part needs no parentheses where the whole stood."""
        text = self.text[slice(*self.span(part))]
        if isinstance(part, ast.Constant):
            return b"\n" not in text and not isinstance(self.parent.get(node), ast.Attribute)
        if isinstance(part, ast.Tuple):
            return self.has_parentheses(part)
        return isinstance(part, ATOMS) and b"\n" not in text

    # ** edits applied

    def apply(self, edits: Sequence[Edit]) -> str:
        """The text after these edits. Raises Refused."""
        text = spliced(self.text, self._with_bodies(merged(edits), edits)).decode()
        if text == self.source:
            raise Refused("the text stays as it is")
        if why := is_no_program(text):
            raise Refused(why)
        return text

    def _with_bodies(self, changes: list[Change], edits: Sequence[Edit]) -> list[Change]:
        """The changes of these edits, with `pass` in blocks that lose all their statements."""
        gone = {change for change in changes if not change.text and change.start < change.end}
        if not gone:
            return changes
        instead: dict[Change, list[Change]] = {}
        for block in self.blocks:
            if block is self.tree.body or self.text.startswith(b"elif", self.span(block[0])[0]):
                continue
            deletions = [self.deletion(statement) for statement in block]
            if all(deletion in gone for deletion in deletions):
                start, end = self.span(block[0])[0], deletions[0].end
                dedents = [
                    each
                    for edit in edits
                    for each in edit.changes
                    if deletions[0].start <= each.start < each.end <= start
                ]
                instead[deletions[0]] = [
                    *merged([Edit("", 0, [each]) for each in dedents]),
                    Change(start, end, b"pass\n"),
                ]
        return [each for change in changes for each in instead.get(change, [change])]


def _is_word(byte: int) -> bool:
    return byte == 95 or byte > 127 or bytes([byte]).isalnum()


def is_no_program(text: str) -> str:
    """Why Python does not take a text as a program; empty where it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<candidate>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        return f"Python does not take it: {error}"
    return ""
