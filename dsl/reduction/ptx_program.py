"""PTX text as the passes see it: where each statement is, in which function, and which names it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import PtxError, Unsupported
from dsl.emulator.ptx.tokens import Tokens
from dsl.reduction.edit import Change, Edit, merged, spliced
from dsl.reduction.program import Refused

ONE_LINE = (".loc", ".file", ".version", ".target", ".address_size")
NAME = re.compile(r"[%$A-Za-z_][\w$%]*(?:\.[xyzw])?\Z")


@dataclass
class Statement:
    """`kind`: "instruction", "label", "declaration", "directive", "function" or "section"; its tokens' numbers."""

    kind: str
    first: int
    last: int
    start: int
    end: int
    line: int
    name: str = ""  # of a label, or a function
    function: Statement | None = None
    body: list[Statement] = field(default_factory=list)
    head_last: int = 0  # of a function: the token before its body


class PtxProgram:
    """Raises PtxError, ValueError."""

    def __init__(self, source: str):
        self.source = source.replace("\r\n", "\n").replace("\r", "\n")
        self.text = self.source.encode()
        self.kept: dict[str, Any] = {}
        _check(self.source)
        self.reader = Tokens(self.text.decode("latin-1"))  # a character a byte
        self.tokens = self.reader.tokens
        self.top: list[Statement] = []
        self._at = 0
        while self.tokens[self._at]:
            self.top.append(self._module_statement())
        self.functions = [each for each in self.top if each.kind == "function"]
        self.statements = [statement for function in self.functions for statement in function.body]
        self.instructions = [each for each in self.statements if each.kind == "instruction"]

    # ** reading

    def _module_statement(self) -> Statement:
        first = self._at
        token = self.tokens[first]
        if token in ONE_LINE:
            return self._one_line(first)
        if token == ".section":
            while self.tokens[self._at] not in ("}", ""):
                self._at += 1
            return self._statement("section", first, self._at)
        while (token := self.tokens[self._at]) not in (".entry", ".func", ";", "{", "="):
            if not token:
                raise PtxError("expected a directive", self.reader.line(first))
            self._at += 1
        if token in (".entry", ".func"):
            return self._function(first)
        while self.tokens[self._at] not in (";", ""):
            self._at += 1
        return self._statement("declaration", first, self._at)

    def _function(self, first: int) -> Statement:
        self._at += 1
        if self.tokens[self._at] == "(":
            while self.tokens[self._at] != ")":
                self._at += 1
            self._at += 1
        name = self.tokens[self._at]
        while self.tokens[self._at] not in ("{", ";", ""):
            self._at += 1
        if self.tokens[self._at] == ";":
            return self._statement("declaration", first, self._at)
        head = self._at - 1
        self._at += 1
        body, depth = [], 1
        while depth and self.tokens[self._at]:
            token = self.tokens[self._at]
            if token in "{}":
                depth += 1 if token == "{" else -1
                self._at += 1
            else:
                body.append(self._body_statement())
        self._at -= 1
        function = self._statement("function", first, self._at, name)
        function.body, function.head_last = body, head
        for each in body:
            each.function = function
        return function

    def _body_statement(self) -> Statement:
        first = self._at
        token = self.tokens[first]
        if token in ONE_LINE:
            return self._one_line(first)
        if self.tokens[first + 1] == ":" and not self.tokens[first + 2].startswith("."):
            return self._statement("label", first, first + 1, token)
        while self.tokens[self._at] not in (";", ""):
            self._at += 1
        kind = "declaration" if token[:1] == "." and token != ".pragma" else "instruction"
        if token in (".pragma", ";") or self.tokens[first + 1] == ":":
            kind = "directive"
        return self._statement(kind, first, self._at)

    def _one_line(self, first: int) -> Statement:
        line = self.reader.line(first)
        last = first
        while self.tokens[last + 1] and self.reader.line(last + 1) == line and self.tokens[last + 1] not in ";}":
            last += 1
        return self._statement("directive", first, last)

    def _statement(self, kind: str, first: int, last: int, name: str = "") -> Statement:
        self._at = last + 1
        start, end = self.reader.starts[first], self.reader.starts[last] + len(self.tokens[last])
        return Statement(kind, first, last, start, end, self.reader.line(first), name)

    # ** what edits are made of

    def of(self, statement: Statement) -> str:
        return " ".join(self.text[statement.start : statement.end].decode(errors="replace").split())

    def names(self, statement: Statement) -> list[str]:
        """The names of registers, labels and variables that a statement has, in order."""
        return [each for each in self.tokens[statement.first : statement.last] if NAME.match(each)]

    def uses(self, function: Statement) -> Counter[str]:
        """How often each name occurs in the instructions of a function."""
        kept = self.kept.setdefault("uses", {})
        if function.first not in kept:
            found: Counter[str] = Counter()
            for statement in function.body:
                if statement.kind in ("instruction", "directive"):
                    found.update(self.names(statement))
            kept[function.first] = found
        return kept[function.first]

    def deletion(self, statement: Statement) -> Change:
        """The span with its whole line, if the line contains nothing else."""
        start = self.text.rfind(b"\n", 0, statement.start) + 1
        end = self.text.find(b"\n", statement.end)
        end = len(self.text) if end < 0 else end + 1
        after = self.text[statement.end : end].strip()
        if not self.text[start : statement.start].strip() and (not after or after.startswith(b"//")):
            return Change(start, end)
        return Change(statement.start, statement.end, b" ")

    def delete(self, about: str, *statements: Statement) -> Edit:
        return Edit(about, statements[0].line, [self.deletion(each) for each in statements])

    def token_change(self, number: int, text: str) -> Change:
        start = self.reader.starts[number]
        return Change(start, start + len(self.tokens[number]), text.encode("latin-1"))

    def between(self, first: int, following: int, text: str = "") -> Change:
        """From the start of one token to the start of a later one."""
        return Change(self.reader.starts[first], self.reader.starts[following], text.encode("latin-1"))

    def apply(self, edits: Sequence[Edit]) -> str:
        """The text after these edits. Raises Refused."""
        text = spliced(self.text, merged(edits)).decode()
        if text == self.source:
            raise Refused("the text stays as it is")
        try:
            _check(text)
        except (PtxError, RecursionError) as error:
            raise Refused(f"this is no PTX: {error}") from None
        return text


def _check(text: str) -> None:
    """Raises PtxError if a text is not PTX. Instructions that the emulator lacks are PTX too."""
    try:
        parse(text)
    except Unsupported:
        pass
